/* Triples drawn to what their pairs say, one after the other, whatever their shapes.

   The same as ``completion.py`` has it in arrays, which says what is worked out and why, and serves
   where this file was not compiled. Replicas are worked on in lanes. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__GNUC__)
#define LANES 2 /* what every 64-bit processor does at once */
typedef double lanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
#else
#define LANES 1
typedef double lanes;
#endif
#define EACH for (int l = 0; l < LANES; l++)
#define AT(v) (((double *)&(v))[l])

typedef int64_t whole;
static inline double most_of(double a, double b) { return a > b ? a : b; }
enum { TRIPLE = 3, ROUNDS = 10, PARTS = 7, ARRAYS = 11 }; /* parts: columns, pairs, all three */
static const int ENDS[TRIPLE][2] = {{0, 1}, {0, 2}, {1, 2}};
static const double EMPTIEST = 1e-5;

typedef struct { /* numbers of all copies; designs and features in squares, column by column */
    double *values, *variances;
    const double *rows, *single, *pairs, *triples, *designs, *features;
    const whole *levels, *columns, *starts; /* of a triple: three columns, and where parts begin */
    whole copies, most, held[TRIPLE], count;
    lanes *cells, *table[TRIPLE], *half, *more;
} Job;

static lanes numbers(const double *all, whole width, const Job *j, whole copy, whole at) {
    whole last = j->copies - 1; /* fills up the lanes; what it gives is dropped */
    lanes out;
    EACH AT(out) = all[(copy + l < last ? copy + l : last) * width + at];
    return out;
}

/* Tables (before x k x after) in which the axis in the middle is multiplied by a matrix, which has
   its numbers of so many rows ``down`` and ``across`` the axis. */
static void turn(const lanes *in, whole before, whole k, whole after, const double *matrix,
                 whole rows, whole down, whole across, lanes *out) {
    for (whole i = 0; i < before; i++, in += k * after)
        for (whole r = 0; r < rows; r++)
            for (whole c = 0; c < after; c++) {
                lanes sum = matrix[r * down] * in[c];
                for (whole z = 1; z < k; z++)
                    sum += matrix[r * down + z * across] * in[z * after + c];
                *out++ = sum;
            }
}

/* The table of two columns, in which no cell is below a share of the rows. */
static void pair(const Job *j, const whole *columns, const whole *starts, int p, whole copy) {
    const int x = ENDS[p][0], y = ENDS[p][1];
    const whole a = j->levels[columns[x]], b = j->levels[columns[y]], square = j->most * j->most;
    lanes sum = {0}, *at = j->half, *out = j->table[p];
    for (whole r = 0; r < a; r++)
        for (whole s = 0; s < b; s++)
            *at++ = r && s ? numbers(j->pairs, j->held[1], j, copy,
                                     starts[TRIPLE + p] + (r - 1) * (b - 1) + s - 1)
                  : r      ? numbers(j->single, j->held[0], j, copy, starts[x] + r - 1)
                  : s      ? numbers(j->single, j->held[0], j, copy, starts[y] + s - 1)
                           : numbers(j->rows, 1, j, copy, 0);
    turn(j->half, 1, a, b, j->designs + columns[x] * square, a, j->most, 1, j->more);
    turn(j->more, a, b, 1, j->designs + columns[y] * square, b, j->most, 1, out);
    for (whole i = 0; i < a * b; i++) sum += out[i];
    for (whole i = 0; i < a * b; i++)
        EACH AT(out[i]) = most_of(AT(out[i]), EMPTIEST * most_of(AT(sum), 1.0));
}

/* Makes sums of some cells what a table of a pair says. */
static void fit(lanes *cells, whole count, whole step, lanes wanted) {
    lanes sum = {0};
    for (whole i = 0; i < count; i++) sum += cells[i * step];
    wanted /= sum;
    for (whole i = 0; i < count; i++) cells[i * step] *= wanted;
}

/* The table that has these pairs and no interaction of all three. */
static void complete(const Job *j, whole a, whole b, whole c) {
    lanes one = {0};
    one += 1.0;
    for (whole i = 0; i < a * b * c; i++) j->cells[i] = one;
    for (int round = 0; round < ROUNDS; round++) {
        for (whole i = 0; i < a * b; i++) fit(j->cells + i * c, c, 1, j->table[0][i]);
        for (whole i = 0; i < a * c; i++)
            fit(j->cells + i / c * b * c + i % c, b, c, j->table[1][i]);
        for (whole i = 0; i < b * c; i++) fit(j->cells + i, a, b * c, j->table[2][i]);
    }
}

/* Draws what was measured of a triple to what its pairs say; the share that is left. */
static lanes draw(const Job *j, whole triple, whole copy, double noise) {
    const whole *columns = j->columns + triple * TRIPLE, *starts = j->starts + triple * PARTS;
    const whole square = j->most * j->most, own = starts[PARTS - 1];
    whole k[TRIPLE], size = 1;
    const double *features[TRIPLE];
    lanes far = {0}, left;
    for (int i = 0; i < TRIPLE; i++) {
        k[i] = j->levels[columns[i]], size *= k[i] - 1;
        features[i] = j->features + columns[i] * square;
        pair(j, columns, starts, i, copy);
    }
    complete(j, k[0], k[1], k[2]);
    turn(j->cells, k[0] * k[1], k[2], 1, features[2], k[2] - 1, 1, j->most, j->half);
    turn(j->half, k[0], k[1], k[2] - 1, features[1], k[1] - 1, 1, j->most, j->more);
    turn(j->more, 1, k[0], (k[1] - 1) * (k[2] - 1), features[0], k[0] - 1, 1, j->most, j->half);
    for (whole i = 0; i < size; i++) {
        j->more[i] = numbers(j->triples, j->held[2], j, copy, own + i) - j->half[i];
        far += j->more[i] * j->more[i];
    }
    EACH AT(left) = most_of(1.0 - (double)size * noise / most_of(AT(far), 1e-12), 0.0);
    for (whole i = 0; i < size; i++) {
        lanes drawn = j->half[i] + left * j->more[i];
        for (int l = 0; l < LANES && copy + l < j->copies; l++)
            j->values[(copy + l) * j->held[2] + own + i] = AT(drawn);
    }
    return left;
}

static void calm(const Job *j, whole triple) {
    const double noise = j->variances[triple];
    double sum = 0;
    for (whole copy = 0; copy < j->copies; copy += LANES) {
        lanes left = draw(j, triple, copy, noise);
        for (int l = 0; l < LANES && copy + l < j->copies; l++) sum += AT(left);
    }
    j->variances[triple] = noise * sum / (double)j->copies;
}

/* Whether all parts of a triple are where it says; the cells of its table, or 0. */
static whole sound(const Job *j, whole triple, whole columns) {
    const whole *own = j->columns + triple * TRIPLE, *starts = j->starts + triple * PARTS;
    whole k[TRIPLE], sizes[PARTS], order[PARTS] = {0, 0, 0, 1, 1, 1, 2};
    for (int i = 0; i < TRIPLE; i++) {
        if (own[i] < 0 || own[i] >= columns) return 0;
        k[i] = j->levels[own[i]], sizes[i] = k[i] - 1;
        if (k[i] < 1 || k[i] > j->most) return 0;
    }
    for (int p = 0; p < TRIPLE; p++) sizes[TRIPLE + p] = sizes[ENDS[p][0]] * sizes[ENDS[p][1]];
    sizes[PARTS - 1] = sizes[0] * sizes[1] * sizes[2];
    for (int i = 0; i < PARTS; i++)
        if (starts[i] < 0 || starts[i] + sizes[i] > j->held[order[i]]) return 0;
    return k[0] * k[1] * k[2];
}

/* Makes room for the largest table; -1 if there is none, 1 if a triple is not sound. */
static whole made_room(Job *j, whole columns, char **memory) {
    whole most = 1;
    for (whole i = 0; i < j->count; i++) {
        whole cells = sound(j, i, columns);
        if (!cells) return 1;
        most = cells > most ? cells : most;
    }
    *memory = malloc((size_t)(6 * most) * sizeof(lanes));
    if (!*memory) return -1;
    lanes *room = (lanes *)*memory, **own[] = {&j->cells, &j->half, &j->more, &j->table[0],
                                               &j->table[1], &j->table[2]};
    for (int i = 0; i < 6; i++) *own[i] = room + i * most;
    return 0;
}

/* Arrays fit each other, but for what each triple says. */
static int fits(const Job *j, const Py_buffer *views, whole columns) {
    const whole squares = 8 * columns * j->most * j->most, all = 8 * j->copies;
    int good = views[6].len == squares && views[7].len == squares && j->copies > 0;
    good = good && views[9].len == 8 * TRIPLE * j->count && views[10].len == 8 * PARTS * j->count;
    for (int i = 0; good && i < TRIPLE; i++) good = views[3 + i].len == all * j->held[i];
    return good && views[0].len == views[5].len;
}

static PyObject *drawn(PyObject *self, PyObject *args) {
    PyObject *arrays;
    Py_buffer views[ARRAYS];
    int held = 0, failed = 0;
    char *memory = NULL;
    if (!PyArg_ParseTuple(args, "O!", &PyTuple_Type, &arrays)) return NULL;
    if (PyTuple_Size(arrays) != ARRAYS)
        return PyErr_Format(PyExc_ValueError, "wrong number of arrays");
    for (; !failed && held < ARRAYS; held += !failed)
        failed = PyObject_GetBuffer(PyTuple_GetItem(arrays, held), &views[held],
                                    PyBUF_C_CONTIGUOUS | (held < 2 ? PyBUF_WRITABLE : 0));
    if (!failed) {
        Job j = {.values = views[0].buf, .variances = views[1].buf, .rows = views[2].buf,
                 .single = views[3].buf, .pairs = views[4].buf, .triples = views[5].buf,
                 .designs = views[6].buf, .features = views[7].buf, .levels = views[8].buf,
                 .columns = views[9].buf, .starts = views[10].buf, .copies = views[2].len / 8,
                 .count = views[1].len / 8};
        const whole columns = views[8].len / 8;
        while (columns && j.most * j.most < views[6].len / 8 / columns) j.most++;
        for (int i = 0; j.copies && i < TRIPLE; i++) j.held[i] = views[3 + i].len / 8 / j.copies;
        const whole bad = fits(&j, views, columns) ? made_room(&j, columns, &memory) : 1;
        if (bad < 0) PyErr_NoMemory();
        else if (bad) PyErr_Format(PyExc_ValueError, "arrays do not fit each other");
        for (whole i = 0; !bad && i < j.count && !PyErr_CheckSignals(); i++) calm(&j, i);
    }
    free(memory);
    while (held) PyBuffer_Release(&views[--held]);
    return PyErr_Occurred() ? NULL : Py_BuildValue("");
}

static PyMethodDef functions[] = {{"drawn", drawn, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_calm", NULL, -1, functions};
PyMODINIT_FUNC PyInit__calm(void) { return PyModule_Create(&module); }
