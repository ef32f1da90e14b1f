/* Questions about evidence: what they are made of, where their components are, and what noise these
   share; for ``_tests.c``. */

#ifndef PRIVET_QUESTIONS
#define PRIVET_QUESTIONS

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define LANES 2 /* what every 64-bit processor does at once */
typedef double lanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
#else
#define LANES 1
typedef double lanes;
#endif
#define EACH for (int l = 0; l < LANES; l++)
#define AT(v) (((double *)&(v))[l])
#define NEW(count, kind) (kind *)room(start, &used, (count) * (int64_t)sizeof(kind))

typedef int64_t whole;
static inline double most_of(double a, double b) { return a > b ? a : b; }
static inline double least_of(double a, double b) { return a < b ? a : b; }
enum { AXES = 4, EFFECTS = 4, HEAD = 7, EACH_LAYER = 4 }; /* the first effect is none */
enum { FACTORS, GAUGES, SIZES }; /* what is asked of a question */
static const double SQUARES[EFFECTS] = {0, 0.03 * 0.03, 0.1 * 0.1, 0.3 * 0.3};
static const double GRAIN = 0.25, FEWEST_ROWS = 10.0, HAIR = 1e-3, NOISE_DEVIATIONS = 3.0;

typedef struct { /* components of sets of as many columns, found by sorted keys */
    const whole *keys, *offsets;
    const double *variances, *values;
    whole count, flat;
} Layer;

typedef struct { /* inverse designs; ``inner``: those without their first columns, squared; and
                    what weights feign (``feigned.py``): NULL, if nothing */
    const whole *levels;
    const double *designs, *inner, *bends;
    double curvature, doubt;
    whole columns, most, replicas;
    Layer layers[AXES + 1];
} Evidence;

typedef struct { const double *value; whole step; } Cell; /* of all replicas; NULL: zero */

typedef struct { /* one end; arrays of lanes are level by stratum */
    whole k;
    const double *design, *inner;
    Cell *cells;
    lanes *table, *shares, *free, *bent;
} End;

typedef struct { /* a question (x, y, *Z), where its components are, and room for the rest */
    const Evidence *all;
    int width, strata, gauged, calm; /* calm: without noise; gauged: GAUGES, SIZES or neither */
    const whole *columns;
    whole first[1 << AXES], steps[1 << AXES][AXES]; /* of sets of axes; -1: was not measured */
    double variance[1 << AXES];
    whole k[AXES], n, size, block, *x, *y, *z; /* levels and stratum of each departure */
    End ends[2];
    Cell *cells;
    double *noise[4]; /* of two strata, for components without ends, with x, with y, with both */
    lanes *table, *total, *weight, *sure, *d, *base, *grown, *root, *scratch, *feint;
} Question;

/* Where the components of each set of axes are (``located.py``). */
static void find(Question *q) {
    for (int axis = 0; axis < q->width; axis++) q->k[axis] = q->all->levels[q->columns[axis]];
    for (int set = 1; set < 1 << q->width; set++) {
        int axes[AXES], order = 0;
        for (int axis = 0; axis < q->width; axis++) {
            if (!(set >> axis & 1)) continue;
            int at = order++; /* by their columns, as blocks lie */
            for (; at && q->columns[axes[at - 1]] > q->columns[axis]; at--) axes[at] = axes[at - 1];
            axes[at] = axis;
        }
        const Layer *layer = &q->all->layers[order];
        whole key = 0, step = 1, low = 0, high = layer->count;
        for (int i = 0; i < order; i++) key = key * q->all->columns + q->columns[axes[i]];
        for (int i = order - 1; i >= 0; step *= q->k[axes[i--]] - 1) q->steps[set][axes[i]] = step;
        while (low < high) {
            whole middle = (low + high) / 2;
            if (layer->keys[middle] < key) low = middle + 1;
            else high = middle;
        }
        int found = low < layer->count && layer->keys[low] == key;
        q->first[set] = found ? layer->offsets[low] : -1;
        q->variance[set] = found ? layer->variances[low] : 0;
    }
}

/* The cells of the tensor of some axes; index 0 means that a column was summed out. */
static void locate(const Question *q, const int *axes, int count, Cell *out) {
    whole index[AXES] = {0}, cells = 1;
    for (int i = 0; i < count; i++) cells *= q->k[axes[i]];
    for (whole cell = 0; cell < cells; cell++) {
        int set = 0, order = 0;
        for (int i = 0; i < count; i++)
            if (index[i]) set |= 1 << axes[i], order++;
        whole place = q->first[set];
        for (int i = 0; i < count; i++)
            if (index[i]) place += (index[i] - 1) * q->steps[set][axes[i]];
        out[cell].value = q->first[set] < 0 ? NULL : q->all->layers[order].values + place;
        out[cell].step = q->all->layers[order].flat;
        for (int i = count - 1; i >= 0 && ++index[i] == q->k[axes[i]]; i--) index[i] = 0;
    }
}

static void gather(const Question *q, const Cell *cells, whole count, whole replica, lanes *out) {
    whole last = q->all->replicas - 1; /* fills up the lanes; what it gives is dropped */
    for (whole i = 0; i < count; i++)
        EACH AT(out[i]) = !cells[i].value ? 0.0 :
            cells[i].value[(replica + l < last ? replica + l : last) * cells[i].step];
}

/* One axis of a tensor, from components to counts. */
static void turn(const Question *q, int axis, whole before, whole after, lanes *tensor) {
    const whole k = q->k[axis], most = q->all->most;
    const double *design = q->all->designs + q->columns[axis] * most * most;
    for (whole i = 0; i < before; i++)
        for (whole j = 0; j < after; j++) {
            lanes *at = tensor + i * k * after + j, *line = q->scratch;
            for (whole c = 0; c < k; c++) line[c] = at[c * after];
            for (whole r = 0; r < k; r++) {
                lanes sum = design[r * most] * line[0];
                for (whole c = 1; c < k; c++) sum += design[r * most + c] * line[c];
                at[r * after] = sum;
            }
        }
}

static void turn_strata(const Question *q, whole before, lanes *tensor) {
    for (whole after = q->n, axis = 2; axis < q->width; before *= q->k[axis++])
        after /= q->k[axis], turn(q, (int)axis, before, after, tensor);
}

/* The covariance of two levels of a member of Z, in components that hold it, or do not. */
static double joint(const Question *q, int axis, int held, whole a, whole b) {
    if (axis >= q->width) return !held;
    const whole most = q->all->most, at = q->columns[axis] * most * most;
    if (held) return q->all->inner[at + a * most + b];
    return q->all->designs[at + a * most] * q->all->designs[at + b * most];
}

/* The covariance of two strata, for components that hold these ends and no other. */
static void spread(const Question *q, int ends, double *out) {
    const whole k = q->width > 3 ? q->k[3] : 1, n = q->n;
    const double *v = q->variance + ends, w = q->width > 2 ? v[4] : 0;
    const double u = q->width > 3 ? v[8] : 0, both = q->width > 3 ? v[12] : 0;
    for (whole i = 0; i < n; i += k)
        for (whole j = 0; j < n; j += k) {
            double outer = joint(q, 2, 0, i / k, j / k), inner = joint(q, 2, 1, i / k, j / k);
            for (whole a = 0; a < k; a++)
                for (whole b = 0; b < k; b++)
                    out[(i + a) * n + j + b] = (v[0] * outer + w * inner) * joint(q, 3, 0, a, b)
                                             + (u * outer + both * inner) * joint(q, 3, 1, a, b);
        }
}

#endif
