/* The weights of rows, as ``white.py`` finds them in arrays, and the same bit for bit: a weight is
   made of one row alone, by operations that are rounded correctly and in the order of the steps.
   Where this file was not compiled, that one serves. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>

/* Elsewhere numbers may keep more digits: arrays serve. */
#if defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0
#error "numbers must be rounded as they are in arrays"
#endif

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

typedef Py_ssize_t whole;
enum { ROWS = 64 }; /* at a time: their lengths in all columns stay in the cache */
enum { COLUMN, FROM_HERE, PLUS, ADD, SCALE, CLOSE, KINDS }; /* as in white.py */

typedef struct { int64_t kind, place; } Step;
typedef struct { /* of a clip */
    double most, nothing;
    const Step *steps;
    const double *prices;
    whole count;
    Py_buffer held[2];
} Plan;
typedef double Line[ROWS];
typedef struct {
    const Plan *plans;
    const Py_buffer *held; /* codes and lengths of each column in turn */
    whole clips, columns;
    double slack;
    uint8_t *weights;
    Line *lengths; /* of some rows in all columns, ones, and in each column and all that follow */
} Job;

/* The squared lengths of some rows, from those of their columns. */
INLINE void squared(const Plan *p, Line *columns, Line *from_here, double *out) {
    Line sum, total = {0};
    const double *own = sum;
    for (whole r = 0; r < ROWS; r++) sum[r] = 0, out[r] = p->nothing;
    for (whole s = 0; s < p->count; s++) {
        const whole at = (whole)p->steps[s].place;
        const double *given = columns[p->steps[s].kind == CLOSE ? 0 : at];
        switch (p->steps[s].kind) {
        case COLUMN: own = given; break;
        case FROM_HERE: own = from_here[at]; break;
        case PLUS:
            for (whole r = 0; r < ROWS; r++) sum[r] = own[r] + given[r];
            own = sum;
            break;
        case ADD:
            for (whole r = 0; r < ROWS; r++) total[r] += own[r] * given[r];
            break;
        case SCALE:
            for (whole r = 0; r < ROWS; r++) total[r] *= given[r];
            break;
        default:
            for (whole r = 0; r < ROWS; r++) out[r] += total[r] * p->prices[at], total[r] = 0;
        }
    }
}

/* Looks up the length of each code; 0 if there is one without. */
INLINE int look_up(const uint8_t *codes, whole count, const Py_buffer *lengths, double *out) {
    const double *length = lengths->buf;
    uint8_t most = 0;
    for (whole r = 0; r < count; r++) most = codes[r] > most ? codes[r] : most;
    if (most >= lengths->len / 8) return 0;
    for (whole r = 0; r < count; r++) out[r] = length[codes[r]];
    return 1;
}

/* Lowers the weights of some rows in all clips; 0 if a code has no length. */
INLINE int lower_some(const Job *j, whole first, whole count) {
    Line *from_here = j->lengths + j->columns + 1, out, allowed;
    for (whole c = j->columns - 1; c >= 0; c--) { /* after the last one there are zeros */
        const uint8_t *codes = (const uint8_t *)j->held[2 * c].buf + first;
        double *own = j->lengths[c];
        if (!look_up(codes, count, &j->held[2 * c + 1], own)) return 0;
        for (whole r = 0; r < ROWS; r++) from_here[c][r] = own[r] + from_here[c + 1][r];
    }
    for (const Plan *p = j->plans; p < j->plans + j->clips; p++) {
        squared(p, j->lengths, from_here, out);
        for (whole r = 0; r < ROWS; r++) {
            const double more = out[r] * j->slack;
            allowed[r] = floor(p->most / sqrt(more > 1e-300 ? more : 1e-300));
        }
        for (whole r = 0; r < count; r++)
            if (allowed[r] < j->weights[first + r]) j->weights[first + r] = (uint8_t)allowed[r];
    }
    return 1;
}

#if defined(__GNUC__) && defined(__x86_64__) /* several numbers at a stroke */
__attribute__((target("avx2")))
static int lower_together(const Job *j, whole first) { return lower_some(j, first, ROWS); }
#endif

static int lower_any(const Job *j, whole first, whole count) {
#if defined(__GNUC__) && defined(__x86_64__)
    if (count == ROWS && __builtin_cpu_supports("avx2")) return lower_together(j, first);
#endif
    return lower_some(j, first, count);
}

static int is_sound(const Plan *p, whole columns) {
    const whole prices = p->held[1].len / 8;
    for (whole s = 0; s < p->count; s++) {
        const Step step = p->steps[s];
        if (step.kind < 0 || step.kind >= KINDS || step.place < 0) return 0;
        const whole ones = step.kind != FROM_HERE; /* after the columns */
        if (step.place >= (step.kind == CLOSE ? prices : columns + ones)) return 0;
    }
    return 1;
}

/* Lowers the weights of all rows; 0 if a code has no length, or a signal says otherwise. */
static int lowered(const Job *j, whole rows) {
    for (whole r = 0; r < ROWS; r++) j->lengths[j->columns][r] = 1;
    for (whole first = 0; first < rows; first += ROWS)
        if (!lower_any(j, first, ROWS < rows - first ? ROWS : rows - first) || PyErr_CheckSignals())
            return 0;
    return 1;
}

/* Takes hold of codes and lengths of each column in turn; how many buffers it could take. */
static whole taken(PyObject *codes, PyObject *lengths, whole rows, Py_buffer *held) {
    const whole columns = PyTuple_Size(codes);
    for (whole i = 0; i < 2 * columns; i++) {
        PyObject *one = PyTuple_GetItem(i % 2 ? lengths : codes, i / 2);
        if (!one || PyObject_GetBuffer(one, &held[i], PyBUF_SIMPLE)) return i;
        if (i % 2 == 0 && (held[i].len != rows || held[i].itemsize != 1)) {
            PyBuffer_Release(&held[i]);
            return i;
        }
    }
    return 2 * columns;
}

/* Takes hold of the plans of clips; how many it could take. */
static whole planned(PyObject *clips, whole columns, Plan *plans) {
    for (whole i = 0; i < PyTuple_Size(clips); i++) {
        Plan *p = plans + i;
        if (!PyArg_ParseTuple(PyTuple_GetItem(clips, i), "ddy*y*", &p->most, &p->nothing,
                              &p->held[0], &p->held[1]))
            return i;
        p->steps = p->held[0].buf, p->count = p->held[0].len / (whole)sizeof(Step);
        p->prices = p->held[1].buf;
        if (!is_sound(p, columns)) {
            PyBuffer_Release(&p->held[0]), PyBuffer_Release(&p->held[1]);
            return i;
        }
    }
    return PyTuple_Size(clips);
}

/* lower(weights, codes, lengths, clips, slack): a clip is how much is allowed, what nothing costs,
   steps and prices. Lowers weights so that in all clips, times the root of the squared length times
   ``slack``, none is more than is allowed. */
static PyObject *lower(PyObject *self, PyObject *args) {
    Py_buffer weights;
    PyObject *codes, *lengths, *clips;
    double slack;
    if (!PyArg_ParseTuple(args, "w*O!O!O!d", &weights, &PyTuple_Type, &codes, &PyTuple_Type,
                          &lengths, &PyTuple_Type, &clips, &slack))
        return NULL;
    const whole columns = PyTuple_Size(codes), count = PyTuple_Size(clips);
    Py_buffer *held = PyMem_Calloc((size_t)columns + 1, 2 * sizeof(Py_buffer));
    Line *scratch = PyMem_Calloc((size_t)columns + 1, 2 * sizeof(Line));
    Plan *plans = PyMem_Calloc((size_t)count + 1, sizeof(Plan));
    const int room = held && scratch && plans;
    whole own = room ? taken(codes, lengths, weights.len, held) : 0;
    whole sound = room ? planned(clips, columns, plans) : 0;
    if (!room) PyErr_NoMemory();
    else if (columns < 1 || own < 2 * columns || sound < count ||
             !lowered(&(Job){plans, held, count, columns, slack, weights.buf, scratch}, weights.len))
        if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "codes do not fit the features");
    while (own) PyBuffer_Release(&held[--own]);
    while (sound--) PyBuffer_Release(&plans[sound].held[0]), PyBuffer_Release(&plans[sound].held[1]);
    PyMem_Free(held), PyMem_Free(scratch), PyMem_Free(plans), PyBuffer_Release(&weights);
    return PyErr_Occurred() ? NULL : Py_BuildValue("");
}

static PyMethodDef functions[] = {{"lower", lower, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_white", NULL, -1, functions};
PyMODINIT_FUNC PyInit__white(void) { return PyModule_Create(&module); }
