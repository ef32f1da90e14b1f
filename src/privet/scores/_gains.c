/* What columns add to the likelihood of another one, from a fan of counts.

   The same as ``tables.py`` has it in arrays, which says what is worked out and why, and serves
   where this file was not compiled. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>

typedef Py_ssize_t whole;

typedef struct { /* the base is before by y by after, and beside it stand the levels of others */
    const int64_t *counts, *levels;
    const double *logs; /* n log n, of each number n up to the rows */
    whole before, y, after, width, columns, known;
    double *out;
} Fan;

/* What the cells of one column add for each stratum of the others of the base: those with y, less
   those without. -1 if a count is none. */
static int add(const Fan *f, whole first, whole levels, double *sum) {
    for (whole i = 0; i < f->before; i++)
        for (whole j = 0; j < f->after; j++)
            for (whole l = first; l < first + levels; l++) {
                int64_t all = 0;
                for (whole v = 0; v < f->y; v++) {
                    int64_t n = f->counts[((i * f->y + v) * f->after + j) * f->width + l];
                    if (n < 0 || n >= f->known) return -1;
                    *sum += f->logs[n], all += n;
                }
                if (all >= f->known) return -1;
                *sum -= f->logs[all];
            }
    return 0;
}

/* The same of the base by itself: its counts are the sums over the levels of any column. */
static int add_base(const Fan *f, double *sum) {
    for (whole i = 0; i < f->before; i++)
        for (whole j = 0; j < f->after; j++) {
            int64_t all = 0;
            for (whole v = 0; v < f->y; v++) {
                const int64_t *cell = f->counts + ((i * f->y + v) * f->after + j) * f->width;
                int64_t n = 0;
                for (whole l = 0; l < f->levels[0]; l++) n += cell[l];
                if (n < 0 || n >= f->known) return -1;
                *sum += f->logs[n], all += n;
            }
            if (all >= f->known) return -1;
            *sum -= f->logs[all];
        }
    return 0;
}

static int gains(const Fan *f) {
    double alone = 0;
    if (add_base(f, &alone)) return -1;
    for (whole c = 0, first = 0; c < f->columns; first += f->levels[c++]) {
        double sum = 0;
        if (add(f, first, f->levels[c], &sum)) return -1;
        f->out[c] = sum - alone;
    }
    return 0;
}

/* likelihood(counts, (before, y, after), levels, logs, out): of each of the other columns. */
static PyObject *likelihood(PyObject *self, PyObject *args) {
    Py_buffer counts, levels, logs, out;
    Fan f = {0};
    if (!PyArg_ParseTuple(args, "y*(nnn)y*y*w*", &counts, &f.before, &f.y, &f.after, &levels, &logs,
                          &out))
        return NULL;
    f.counts = counts.buf, f.levels = levels.buf, f.logs = logs.buf, f.out = out.buf;
    f.columns = levels.len / 8, f.known = logs.len / 8;
    int fits = f.columns > 0 && out.len / 8 == f.columns && f.before > 0 && f.y > 0 && f.after > 0;
    for (whole c = 0; c < f.columns; c++)
        fits = fits && f.levels[c] > 0 && f.levels[c] <= counts.len, f.width += f.levels[c];
    whole cells = fits ? counts.len / 8 / f.width : 0;
    fits = fits && f.before <= cells && f.y <= cells && f.after <= cells
        && f.before * f.y * f.after == cells && cells * f.width == counts.len / 8 && !gains(&f);
    PyBuffer_Release(&counts), PyBuffer_Release(&levels);
    PyBuffer_Release(&logs), PyBuffer_Release(&out);
    return fits ? Py_BuildValue("") : PyErr_Format(PyExc_ValueError, "counts do not fit");
}

static PyMethodDef functions[] = {{"likelihood", likelihood, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_gains", NULL, -1, functions};
PyMODINIT_FUNC PyInit__gains(void) { return PyModule_Create(&module); }
