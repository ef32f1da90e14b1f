/* Gains in closed form, and whether a test that knows the noise believes in them: ``Formula`` in
   ``protocols.py``. */

#include "_sets.h"

/* Lists what is given and takes its covariances apart (Cholesky); how many there are. */
static int prepare(Search *s, const Word *given) {
    int count = 0;
    EACH(v, given) s->given[count++] = v;
    for (int i = 0; i < count; i++)
        for (int j = 0; j <= i; j++) {
            const double *a = s->root + (size_t)i * s->size, *b = s->root + (size_t)j * s->size;
            double whole = s->matrix[(size_t)s->given[i] * s->size + s->given[j]], left = whole;
            for (int k = 0; k < j; k++) left -= a[k] * b[k];
            if (i == j && !(left > LEAST * whole)) s->failed = UNFIT;
            s->root[(size_t)i * s->size + j] = i == j ? sqrt(left) : left / b[j];
        }
    return count;
}

/* What is left of a column's variance; ``out`` is what the given ones say about it. */
static double solve(Search *s, int count, int column, double *out) {
    double whole = s->matrix[(size_t)column * (s->size + 1)], left = whole;
    for (int i = 0; i < count; i++) {
        const double *a = s->root + (size_t)i * s->size;
        double value = s->matrix[(size_t)s->given[i] * s->size + column];
        for (int k = 0; k < i; k++) value -= a[k] * out[k];
        out[i] = value / a[i];
        left -= out[i] * out[i];
    }
    if (!(left > LEAST * whole)) s->failed = UNFIT;
    return left;
}

/* What x adds to y beside the ``count`` columns of which ``prepare`` was told. */
static double added(Search *s, int count, int x, int y, double of_y) {
    const double *y_solved = s->solved, *terms = s->terms + count;
    double *x_solved = s->solved + s->size, of_x = solve(s, count, x, x_solved);
    double both = s->matrix[(size_t)x * s->size + y], left;
    for (int i = 0; i < count; i++) both -= x_solved[i] * y_solved[i];
    left = 1 - both * both / (of_x * of_y);
    left = terms[0] - terms[s->size] * log(left > NOTHING ? left : NOTHING);
    return terms[2 * s->size] ? left - terms[2 * s->size] * log(of_x * of_y) : left;
}

static double gain(Search *s, int x, int y, const Word *given) {
    int count = prepare(s, given);
    return added(s, count, x, y, solve(s, count, y, s->solved));
}

/* What is left of x with itself or with y, in the metric of the noise, by the slopes on what is
   given. */
static double left_over(const Search *s, int count, int x, int y, const double *of_x,
                        const double *of_y) {
    double out = s->metric[(size_t)x * s->size + y];
    for (int i = 0; i < count; i++) {
        const double *row = s->metric + (size_t)s->given[i] * s->size;
        out -= of_x[i] * row[y] + of_y[i] * row[x];
        for (int j = 0; j < count; j++) out += of_x[i] * of_y[j] * row[s->given[j]];
    }
    return out;
}

/* What is left of the noise in the metric, given ``count`` columns, for a correlation r of x and
   y. ``solved`` holds what these say about y and x; see ``independence/fisher_z.py``. */
static double noise_left(Search *s, int count, int x, int y, double of_x, double of_y, double r) {
    double *slopes[] = {s->solved + 2 * s->size, s->solved + 3 * s->size};
    for (int end = 0; end < 2; end++)
        for (int i = count - 1; i >= 0; i--) {
            double value = s->solved[end * s->size + i];
            for (int k = i + 1; k < count; k++)
                value -= s->root[(size_t)k * s->size + i] * slopes[end][k];
            slopes[end][i] = value / s->root[(size_t)i * (s->size + 1)];
        }
    const double a = left_over(s, count, x, x, slopes[1], slopes[1]) / of_x;
    const double b = left_over(s, count, y, y, slopes[0], slopes[0]) / of_y;
    const double c = left_over(s, count, x, y, slopes[1], slopes[0]) / sqrt(of_x * of_y);
    double noise = a * b + c * c - 2 * r * c * (a + b), left = 1 - r * r;
    noise += r * r * (a * a + b * b + 2 * c * c) / 2;
    return s->doubt[1] * fmax(noise, 0) / (left * left);
}

/* Atanh of the correlation of x and y beside the ``count`` columns for which both were solved, and
   its variance. */
static double z_of(Search *s, int count, int x, int y, double of_y, double *variance) {
    double of_x = s->matrix[(size_t)x * (s->size + 1)], r = s->matrix[(size_t)x * s->size + y];
    for (int i = 0; i < count; i++) {
        const double own = s->solved[s->size + i];
        of_x -= own * own, r -= own * s->solved[i];
    }
    r = fmax(-STRONGEST, fmin(r / sqrt(of_x * of_y), STRONGEST));
    *variance = 1 / fmax(s->doubt[0] - count - 3, 1e-3);
    if (s->doubt[1]) *variance += noise_left(s, count, x, y, of_x, of_y, r);
    return atanh(r);
}

/* How much a test that knows the noise says for a dependence of the two: the logarithm of a Bayes
   factor, less what an edge needs; see ``independence/fisher_z.py``. */
static double margin(Search *s, int count, int x, int y, double of_y) {
    static const double taus[] = {0.03, 0.1, 0.3};
    double variance, told[3], top = -HUGE_VAL, sum = 0;
    const double z = z_of(s, count, x, y, of_y, &variance), square = z * z / (2 * variance);
    for (int i = 0; i < 3; i++) {
        const double wide = 1 + taus[i] * taus[i] / variance;
        told[i] = square * (1 - 1 / wide) - log(wide) / 2;
        top = fmax(top, told[i]);
    }
    for (int i = 0; i < 3; i++) sum += exp(told[i] - top);
    return top + log(sum / 3) - s->doubt[2];
}
