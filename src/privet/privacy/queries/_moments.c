/* What ``moments.py`` makes of rows, number by number: places in histograms, and vectors in a ball.

   The same as there, bit for bit, and what it says about why holds here: every number is made of
   one row alone, by operations that are rounded correctly and in a fixed order. Where this file was
   not compiled, that one serves. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Elsewhere numbers may keep more digits, and nothing here would be whole: arrays serve. */
#if defined(__FAST_MATH__) || FLT_EVAL_METHOD != 0
#error "numbers must be rounded as they are in arrays"
#endif

typedef Py_ssize_t whole;
enum { ROWS = 512 }; /* at a time */
static const double ROUND = 6755399441055744.0; /* 1.5 * 2**52: numbers beside it are whole */

/* To the nearest whole number, the even one of two: as rint below 2**51, several at a stroke. */
#define RINT(x) (((x) + ROUND) - ROUND)
#define WITHIN(x, low, high) ((x) < (low) ? (low) : (x) > (high) ? (high) : (x) == (x) ? (x) : 0.0)

typedef struct { const char *start; whole columns, rows, line; } Block; /* a line for each column */

static const double *line_of(const Block *b, whole column) {
    return (const double *)(b->start + column * b->line);
}

/* Takes hold of a matrix whose lines lie in one piece each; 0 if it is no such. */
static int take(Py_buffer *view, PyObject *array, Block *b) {
    if (PyObject_GetBuffer(array, view, PyBUF_STRIDED_RO)) return 0;
    const int fits = view->ndim == 2 && view->itemsize == 8 &&
                     (view->strides[1] == 8 || view->shape[1] <= 1);
    if (fits) *b = (Block){view->buf, view->shape[0], view->shape[1], view->strides[0]};
    else PyErr_Format(PyExc_ValueError, "wrong arrays"), PyBuffer_Release(view);
    return fits;
}

/* Whole numbers, times the scale of their column: below 2**53, so exact. */
static void put_on_grid(const Block *b, const double *centres, const double *reaches,
                        const double *scales, double fine, double *out) {
    for (whole c = 0; c < b->columns; c++) {
        const double *x = line_of(b, c), centre = centres[c], reach = reaches[c];
        const double scale = scales[c];
        double *u = out + c * b->rows;
        for (whole r = 0; r < b->rows; r++) {
            const double share = (x[r] - centre) / reach, inside = WITHIN(share, -1.0, 1.0);
            u[r] = RINT(inside * fine) * scale;
        }
    }
}

/* on_grid(out, block, centres, reaches, scales, fine) */
static PyObject *on_grid(PyObject *self, PyObject *args) {
    Py_buffer view, out, centres, reaches, scales;
    PyObject *array;
    Block b;
    double fine;
    if (!PyArg_ParseTuple(args, "w*Oy*y*y*d", &out, &array, &centres, &reaches, &scales, &fine))
        return NULL;
    if (take(&view, array, &b)) {
        if (out.len == 8 * b.columns * b.rows && centres.len == 8 * b.columns &&
            reaches.len == 8 * b.columns && scales.len == 8 * b.columns)
            put_on_grid(&b, centres.buf, reaches.buf, scales.buf, fine, out.buf);
        else PyErr_Format(PyExc_ValueError, "wrong arrays");
        PyBuffer_Release(&view);
    }
    PyBuffer_Release(&out), PyBuffer_Release(&centres), PyBuffer_Release(&reaches);
    PyBuffer_Release(&scales);
    return PyErr_Occurred() ? NULL : Py_BuildValue("");
}

/* Some rows: scaled to the room there is, rounded, and left out if they are too long all the same. */
static void cut_rows(const Block *b, whole first, whole end, const double *ball, double *v) {
    const double room = ball[0], radius = ball[1], constant = ball[2], norm = ball[3];
    const whole count = end - first;
    double scale[ROWS], length[ROWS];
    for (whole r = 0; r < count; r++) scale[r] = 0, length[r] = constant * constant;
    for (whole c = 0; c < b->columns; c++) {
        const double *z = line_of(b, c) + first;
        for (whole r = 0; r < count; r++) scale[r] += z[r] * z[r];
    }
    for (whole r = 0; r < count; r++) {
        const double far = sqrt(scale[r]);
        scale[r] = room / (far > radius ? far : radius);
    }
    for (whole c = 0; c < b->columns; c++) {
        const double *z = line_of(b, c) + first;
        double *out = v + (c + 1) * b->rows + first;
        for (whole r = 0; r < count; r++) {
            const double scaled = z[r] * scale[r], rounded = RINT(scaled);
            out[r] = WITHIN(rounded, -norm, norm);
            length[r] += out[r] * out[r];
        }
    }
    for (whole r = 0; r < count; r++) {
        v[first + r] = constant;
        if (!(length[r] <= norm * norm))
            for (whole c = 1; c <= b->columns; c++) v[c * b->rows + first + r] = 0;
    }
}

/* cut(out, z, ball): ``ball`` are room, radius, constant and norm. */
static PyObject *cut(PyObject *self, PyObject *args) {
    Py_buffer view, out, ball;
    PyObject *array;
    Block b;
    if (!PyArg_ParseTuple(args, "w*Oy*", &out, &array, &ball)) return NULL;
    if (take(&view, array, &b)) {
        if (out.len == 8 * (b.columns + 1) * b.rows && ball.len == 32)
            for (whole first = 0; first < b.rows; first += ROWS)
                cut_rows(&b, first, b.rows < first + ROWS ? b.rows : first + ROWS, ball.buf,
                         out.buf);
        else PyErr_Format(PyExc_ValueError, "wrong arrays");
        PyBuffer_Release(&view);
    }
    PyBuffer_Release(&out), PyBuffer_Release(&ball);
    return PyErr_Occurred() ? NULL : Py_BuildValue("");
}

/* locate(total, block, lows, widths): adds each number of a column to one of its equal bins. */
static PyObject *locate(PyObject *self, PyObject *args) {
    Py_buffer view, total, lows, widths;
    PyObject *array;
    Block b;
    if (!PyArg_ParseTuple(args, "w*Oy*y*", &total, &array, &lows, &widths)) return NULL;
    if (take(&view, array, &b)) {
        const whole bins = b.columns ? total.len / 8 / b.columns : 0;
        const int fits = bins > 0 && total.len == 8 * bins * b.columns &&
                         lows.len == 8 * b.columns && widths.len == lows.len;
        for (whole c = 0; fits && c < b.columns; c++) {
            int64_t *counts = (int64_t *)total.buf + c * bins;
            const double *x = line_of(&b, c), low = ((double *)lows.buf)[c];
            const double width = ((double *)widths.buf)[c], last = (double)(bins - 1);
            for (whole r = 0; r < b.rows; r++) {
                const double share = (x[r] - low) / width * (double)bins;
                counts[(whole)WITHIN(share, 0.0, last)]++;
            }
        }
        if (!fits) PyErr_Format(PyExc_ValueError, "wrong arrays");
        PyBuffer_Release(&view);
    }
    PyBuffer_Release(&total), PyBuffer_Release(&lows), PyBuffer_Release(&widths);
    return PyErr_Occurred() ? NULL : Py_BuildValue("");
}

static PyMethodDef functions[] = {{"on_grid", on_grid, METH_VARARGS, NULL},
                                  {"cut", cut, METH_VARARGS, NULL},
                                  {"locate", locate, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_moments", NULL, -1, functions};
PyMODINIT_FUNC PyInit__moments(void) { return PyModule_Create(&module); }
