/* Bayes factors of pooled tests on counted tables, question by question, whatever their shapes.

   The same as ``pooled_counted`` in ``chi2.py`` has it in arrays, which serves where this file was
   not compiled. ``counted.py`` calls it. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline)) /* loops over sides are unrolled */
#else
#define INLINE static inline
#endif

typedef int64_t whole;
enum { ENDS = 2, TABLES = 3, EFFECTS = 4, ARRAYS = 6 }; /* the first effect is none */
static const double SQUARES[EFFECTS] = {0, 0.03 * 0.03, 0.1 * 0.1, 0.3 * 0.3};
static const double GRAIN = 0.25, FEWEST_ROWS = 10.0;

typedef struct { whole k; double *table, *shares, *spread; } End; /* level by stratum */

typedef struct { /* a question (x, y, *Z), where its tables are, and room for the rest */
    whole width, copies, n, size; /* strata; departures */
    const whole *levels, *first, *steps; /* of its columns; of (x, Z), (y, Z) and (x, y) */
    const whole *counts;
    const double *noise; /* in units, copy by copy */
    double rows, *total, *d, *moved, *base, *root, *lines;
    End ends[ENDS];
} Question;

static double *room(double *start, whole *used, whole count) {
    *used += count;
    return start ? start + *used - count : NULL;
}

/* Sets a question up in the room that starts there; how many numbers it needs. */
static whole place(Question *q, double *start) {
    whole used = 0;
    q->n = 1;
    for (whole axis = ENDS; axis < q->width; axis++) q->n *= q->levels[axis];
    for (int end = 0; end < ENDS; end++) {
        End *e = &q->ends[end];
        whole k = e->k = q->levels[end];
        e->table = room(start, &used, k * q->n), e->shares = room(start, &used, k * q->n);
        e->spread = room(start, &used, (k - 1) * (k - 1) * q->n);
    }
    const whole m = q->size = (q->ends[0].k - 1) * (q->ends[1].k - 1);
    q->total = room(start, &used, q->n), q->d = room(start, &used, m);
    q->moved = room(start, &used, m), q->base = room(start, &used, m * m);
    q->root = room(start, &used, m * m * EFFECTS), q->lines = room(start, &used, m * EFFECTS);
    return used;
}

/* The table of one end, its level first, then strata with the last column changing fastest. */
static void gather(const Question *q, int end) {
    const whole *steps = q->steps + end * (q->width - 1);
    for (whole i = 0; i < q->ends[end].k; i++)
        for (whole z = 0; z < q->n; z++) {
            whole at = q->first[end] + i * steps[0];
            for (whole axis = q->width - 1, left = z; axis >= ENDS; left /= q->levels[axis--])
                at += left % q->levels[axis] * steps[axis - 1];
            q->ends[end].table[i * q->n + z] = (double)q->counts[at];
        }
}

/* Shares of the levels in each stratum; where there are few rows, drawn to the overall ones. */
static void share(const Question *q, const End *e) {
    const whole n = q->n, k = e->k;
    double all = 0;
    for (whole i = 0; i < k; i++) {
        double sum = 0;
        for (whole z = 0; z < n; z++) sum += e->table[i * n + z];
        all += sum = sum > 1e-9 ? sum : 1e-9;
        for (whole z = 0; z < n; z++) e->shares[i * n + z] = sum; /* for now */
    }
    for (whole z = 0; z < n; z++) {
        double sum = 0;
        for (whole at = z; at < k * n; at += n) {
            double drawn = q->total[z] >= FEWEST_ROWS ? 0 : FEWEST_ROWS * (e->shares[at] / all);
            sum += e->shares[at] = e->table[at] + drawn;
        }
        for (whole at = z; at < k * n; at += n) e->shares[at] /= sum;
    }
}

/* diag p - pp' of each two levels in each stratum; of x, weighed by the rows. */
static void spread(const Question *q, const End *e) {
    double *out = e->spread;
    for (whole i = 0; i < e->k - 1; i++)
        for (whole j = 0; j < e->k - 1; j++)
            for (whole z = 0; z < q->n; z++) {
                double own = e->shares[i * q->n + z] * ((i == j) - e->shares[j * q->n + z]);
                *out++ = e == q->ends ? q->total[z] * own : own;
            }
}

/* What is expected of two levels in a stratum; linearised where it has few rows. */
static double product(const Question *q, whole x, whole y, whole z) {
    const End *e = q->ends;
    double p = e[0].table[x + z], r = e[1].table[y + z];
    if (q->total[z] >= FEWEST_ROWS) return p * r / q->total[z];
    double s = e[0].shares[x + z], t = e[1].shares[y + z];
    return s * r + p * t - q->total[z] * s * t;
}

/* Departures summed over strata, and the lower half of their sampling covariance. */
static void pool(const Question *q) {
    const whole n = q->n, m = q->size, a = q->ends[0].k - 1, b = q->ends[1].k - 1;
    const whole *pair = q->counts + q->first[ENDS], *steps = q->steps + ENDS * (q->width - 1);
    for (whole i = 0; i < m; i++) {
        const whole x = i / b, y = i % b;
        q->d[i] = (double)pair[x * steps[0] + y * steps[1]];
        for (whole z = 0; z < n; z++) q->d[i] -= product(q, x * n, y * n, z);
        for (whole j = 0; j <= i; j++) {
            const double *one = q->ends[0].spread + (x * a + j / b) * n;
            const double *other = q->ends[1].spread + (y * b + j % b) * n;
            double sum = 0;
            for (whole z = 0; z < n; z++) sum += one[z] * other[z];
            q->base[i * m + j] = sum;
        }
    }
}

/* Cholesky factors of matrices side by side; their log determinants are added to ``sizes``. */
INLINE void factor(double *root, whole m, whole sides, double *sizes) {
    for (whole j = 0; j < m; j++) {
        double *own = root + j * m * sides, scale[EFFECTS] = {0};
        for (whole i = j; i < m; i++) {
            double *line = root + i * m * sides, sum[EFFECTS];
            for (whole t = 0; t < sides; t++) sum[t] = line[j * sides + t];
            for (whole c = 0; c < j; c++)
                for (whole t = 0; t < sides; t++) sum[t] -= line[c * sides + t] * own[c * sides + t];
            for (whole t = 0; i == j && t < sides; t++) {
                scale[t] = 1.0 / sqrt(sum[t]);
                if (sizes) sizes[t] += log(sum[t]);
            }
            for (whole t = 0; t < sides; t++) line[j * sides + t] = sum[t] * scale[t];
        }
    }
}

/* The Cholesky factor of the sampling covariance, which noise is coloured with, in its place. */
static void colour(const Question *q, double ridge) {
    const whole m = q->size;
    for (whole i = 0; i < m; i++) q->base[i * (m + 1)] += ridge;
    factor(q->base, m, 1, NULL);
}

/* The covariances of departures for all effects (``terms.py``), side by side. */
static void grow(const Question *q, double ridge) {
    const whole m = q->size, b = q->ends[1].k - 1;
    const double apart_x = 1.0 / (double)q->ends[0].k, apart_y = 1.0 / (double)q->ends[1].k;
    for (whole i = 0; i < m; i++)
        for (whole j = 0; j <= i; j++) {
            double own = q->base[i * m + j];
            double calm = own + (i == j ? ridge : 0) + GRAIN * ((i / b == j / b) - apart_x)
                                                             * ((i % b == j % b) - apart_y);
            for (int t = 0; t < EFFECTS; t++)
                q->root[(i * m + j) * EFFECTS + t] = calm + SQUARES[t] * (q->rows * own);
        }
}

/* The log Bayes factor of departures, after the sizes of all covariances. */
static double weigh(const Question *q, const double *d, const double *sizes) {
    const whole m = q->size;
    double terms[EFFECTS], least, sum = 0;
    for (int t = 0; t < EFFECTS; t++) terms[t] = sizes[t];
    for (whole i = 0; i < m; i++) {
        const double *line = q->root + i * m * EFFECTS;
        double *own = q->lines + i * EFFECTS;
        for (int t = 0; t < EFFECTS; t++) own[t] = d[i];
        for (whole c = 0; c < i; c++)
            for (int t = 0; t < EFFECTS; t++)
                own[t] -= line[c * EFFECTS + t] * q->lines[c * EFFECTS + t];
        for (int t = 0; t < EFFECTS; t++)
            own[t] /= line[i * EFFECTS + t], terms[t] += own[t] * own[t];
    }
    least = terms[1];
    for (int t = 2; t < EFFECTS; t++) least = terms[t] < least ? terms[t] : least;
    for (int t = 1; t < EFFECTS; t++) sum += exp(0.5 * (least - terms[t]));
    return 0.5 * (terms[0] - least) + log(sum) - log(EFFECTS - 1);
}

/* The factors of one question: of what was counted, or of copies with noise. */
static void answer(const Question *q, whole count, double *out) {
    const whole m = q->size;
    double sizes[EFFECTS] = {0}, ridge = 0;
    gather(q, 0), gather(q, 1);
    for (whole z = 0; z < q->n; z++) {
        q->total[z] = 0;
        for (whole i = 0; i < q->ends[0].k; i++) q->total[z] += q->ends[0].table[i * q->n + z];
    }
    for (int end = 0; end < ENDS; end++) share(q, &q->ends[end]), spread(q, &q->ends[end]);
    pool(q);
    for (whole i = 0; i < m; i++) ridge += q->base[i * (m + 1)];
    ridge = 1e-9 * (ridge / (double)m) + 1e-9;
    grow(q, ridge), factor(q->root, m, EFFECTS, sizes);
    if (!q->copies) *out = weigh(q, q->d, sizes);
    else colour(q, ridge);
    for (whole r = 0; r < q->copies; r++) {
        for (whole i = 0; i < m; i++) {
            q->moved[i] = q->d[i];
            for (whole j = 0; j <= i; j++) q->moved[i] += q->base[i * m + j] * q->noise[r * m + j];
        }
        out[r * count] = weigh(q, q->moved, sizes);
    }
}

static int answers(Question *q, whole count, double *out) {
    whole most = 0;
    double *memory = NULL;
    for (whole i = 0; i < count; i++) {
        whole needed = place(q, NULL);
        if (needed > most) {
            free(memory), most = needed;
            if (!(memory = malloc((size_t)most * sizeof(double)))) return -1;
        }
        place(q, memory), answer(q, count, out + i);
        q->noise += q->copies * q->size, q->levels += q->width;
        q->first += TABLES, q->steps += ENDS * q->width; /* two tables without an end, and a pair */
    }
    free(memory);
    return 0;
}

/* factors((out, levels, first, steps, counts, noise), width, copies, rows) */
static PyObject *factors(PyObject *self, PyObject *args) {
    PyObject *arrays;
    Py_buffer views[ARRAYS];
    Question q = {0};
    long long width, copies;
    int held = 0, failed = 0;
    if (!PyArg_ParseTuple(args, "O!LLd", &PyTuple_Type, &arrays, &width, &copies, &q.rows))
        return NULL;
    if (PyTuple_Size(arrays) != ARRAYS || width < ENDS)
        return PyErr_Format(PyExc_ValueError, "wrong number of arrays or of columns");
    for (; !failed && held < ARRAYS; held += !failed)
        failed = PyObject_GetBuffer(PyTuple_GetItem(arrays, held), &views[held],
                                    PyBUF_C_CONTIGUOUS | (held ? 0 : PyBUF_WRITABLE));
    if (!failed) {
        q.width = width, q.copies = copies, q.levels = views[1].buf, q.first = views[2].buf;
        q.steps = views[3].buf, q.counts = views[4].buf, q.noise = views[5].buf;
        Py_BEGIN_ALLOW_THREADS
        failed = answers(&q, views[1].len / 8 / q.width, views[0].buf);
        Py_END_ALLOW_THREADS
        if (failed) PyErr_NoMemory();
    }
    while (held) PyBuffer_Release(&views[--held]);
    return failed ? NULL : Py_BuildValue("");
}

static PyMethodDef functions[] = {{"factors", factors, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_counted", NULL, -1, functions};
PyMODINIT_FUNC PyInit__counted(void) { return PyModule_Create(&module); }
