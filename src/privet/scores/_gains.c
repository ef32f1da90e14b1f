/* What columns add to the likelihood of another one, from fans of counts.

   The same as ``tables.py`` has it in arrays, which says what is worked out and why, and serves
   where this file was not compiled. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>

typedef Py_ssize_t whole;
enum { FOUND, MISSING, FAILED };
static const whole MOST_CELLS = 1 << 20; /* on one side of y: no number becomes too large */

typedef struct { /* all fans by their base, and what is the same for all of them */
    PyObject *fans;
    const int64_t *levels; /* of all columns */
    const double *logs; /* n log n, of each number n up to the rows */
    whole columns, known;
    double each; /* the price of a free number */
    int64_t *base, *starts; /* columns of a base; where the levels of a column are in a fan, or -1 */
} Held;

typedef struct { /* the base is before by y by after, and beside it stand the levels of others */
    const int64_t *counts;
    whole before, y, after, width, first; /* first: levels of the first column beside the base */
    double alone; /* what the base adds by itself */
    Py_buffer view;
} Fan;

/* --- what columns add ------------------------------------------------------------------------- */

/* What the cells of one column add for each stratum of the others of the base: those with y, less
   those without. -1 if a count is none. */
static int add(const Held *h, const Fan *f, whole first, whole levels, double *sum) {
    for (whole i = 0; i < f->before; i++)
        for (whole j = 0; j < f->after; j++)
            for (whole l = first; l < first + levels; l++) {
                int64_t all = 0;
                for (whole v = 0; v < f->y; v++) {
                    int64_t n = f->counts[((i * f->y + v) * f->after + j) * f->width + l];
                    if (n < 0 || n >= h->known) return -1;
                    *sum += h->logs[n], all += n;
                }
                if (all >= h->known) return -1;
                *sum -= h->logs[all];
            }
    return 0;
}

/* The same of the base by itself: its counts are the sums over the levels of any column. */
static int add_base(const Held *h, const Fan *f, double *sum) {
    for (whole i = 0; i < f->before; i++)
        for (whole j = 0; j < f->after; j++) {
            int64_t all = 0;
            for (whole v = 0; v < f->y; v++) {
                const int64_t *cell = f->counts + ((i * f->y + v) * f->after + j) * f->width;
                int64_t n = 0;
                for (whole l = 0; l < f->first; l++) n += cell[l];
                if (n < 0 || n >= h->known) return -1;
                *sum += h->logs[n], all += n;
            }
            if (all >= h->known) return -1;
            *sum -= h->logs[all];
        }
    return 0;
}

/* What x adds to y, less the price of the numbers that are free then. */
static int gain(const Held *h, const Fan *f, whole x, double *out) {
    const whole cells = f->before * f->y * f->after;
    double sum = 0;
    if (add(h, f, h->starts[x], h->levels[x], &sum)) return FAILED;
    sum -= f->alone;
    *out = sum - h->each * (h->levels[x] - 1) * (cells - cells / f->y);
    return FOUND;
}

/* --- fans ------------------------------------------------------------------------------------- */

/* The columns of a base, ascending: y and what is given; 0 if one is none. */
static int put_base(const Held *h, int64_t y, const int64_t *given, whole width) {
    for (whole i = -1, at; i < width; i++) {
        const int64_t own = i < 0 ? y : given[i];
        if (own < 0 || own >= h->columns || width >= h->columns) return 0;
        for (at = i + 1; at > 0 && h->base[at - 1] > own; at--) h->base[at] = h->base[at - 1];
        h->base[at] = own;
    }
    return 1;
}

/* Parts the base into what comes before y, y, and what comes after it. */
static int part(const Held *h, Fan *f, whole size, int64_t y) {
    f->before = f->after = 1, f->y = 0;
    for (whole i = 0; i < size && f->before <= MOST_CELLS && f->after <= MOST_CELLS; i++) {
        const int64_t own = h->levels[h->base[i]];
        if (h->base[i] == y) f->y = own;
        else *(f->y ? &f->after : &f->before) *= own;
    }
    return f->y > 0 && f->before <= MOST_CELLS && f->after <= MOST_CELLS;
}

/* Where the levels of each column are in a fan of these columns; how many there are, or 0. */
static whole place(const Held *h, Fan *f, PyObject *columns) {
    whole width = 0, count = PyTuple_Size(columns);
    for (whole c = 0; c < h->columns; c++) h->starts[c] = -1;
    for (whole i = 0; i < count; i++) {
        whole own = PyLong_AsSsize_t(PyTuple_GetItem(columns, i));
        if (own < 0 || own >= h->columns || h->levels[own] < 1) return 0;
        if (!i) f->first = h->levels[own];
        h->starts[own] = width, width += h->levels[own];
    }
    return width;
}

static int serves(const Held *h, const char *asked, int64_t x) {
    if (!asked) return h->starts[x] >= 0;
    for (whole c = 0; c < h->columns; c++)
        if (asked[c] && h->starts[c] < 0) return 0;
    return 1;
}

static PyObject *key_of(const Held *h, whole size) {
    PyObject *key = PyTuple_New(size);
    for (whole i = 0; key && i < size; i++) PyTuple_SetItem(key, i, PyLong_FromLongLong(h->base[i]));
    return key;
}

/* All fans beside the columns in ``base``; NULL if there is none. */
static PyObject *listed(const Held *h, whole size) {
    PyObject *key = key_of(h, size), *found;
    found = key ? PyDict_GetItem(h->fans, key) : NULL;
    Py_XDECREF(key);
    return found;
}

/* Opens a fan beside y and what is given that has the columns ``asked`` for, or x. */
static int open(const Held *h, Fan *f, int64_t y, const int64_t *given, whole width,
                const char *asked, int64_t x) {
    PyObject *fans;
    if (!put_base(h, y, given, width) || !part(h, f, width + 1, y)) return FAILED;
    if (!(fans = listed(h, width + 1))) return MISSING;
    for (whole i = 0; i < PyList_Size(fans); i++) {
        PyObject *one = PyList_GetItem(fans, i);
        if (!PyTuple_Check(one) || PyTuple_Size(one) < 2) return FAILED;
        if (!(f->width = place(h, f, PyTuple_GetItem(one, 0)))) return FAILED;
        if (!serves(h, asked, x)) continue;
        if (PyObject_GetBuffer(PyTuple_GetItem(one, 1), &f->view, PyBUF_C_CONTIGUOUS)) return FAILED;
        f->counts = f->view.buf, f->alone = 0;
        if (f->before * f->y * f->after * f->width == f->view.len / 8 && !add_base(h, f, &f->alone))
            return FOUND;
        PyBuffer_Release(&f->view);
        return FAILED;
    }
    return MISSING;
}

/* --- what is asked ---------------------------------------------------------------------------- */

static int by_row(const Held *h, int64_t y, const int64_t *given, whole width, const char *asked,
                  double *out) {
    Fan f;
    int state = open(h, &f, y, given, width, asked, -1);
    if (state != FOUND) return state;
    for (whole x = 0; x < h->columns && state == FOUND; x++)
        if (asked[x]) state = gain(h, &f, x, out + x);
    PyBuffer_Release(&f.view);
    return state;
}

static int one_by_one(const Held *h, const int64_t *question, whole width, double *out) {
    Fan f;
    int state = MISSING;
    for (int end = 1; end >= 0 && state == MISSING; end--) { /* either may have a fan */
        const int64_t x = question[1 - end];
        if (x < 0 || x >= h->columns) return FAILED;
        state = open(h, &f, question[end], question + 2, width - 2, NULL, x);
        if (state != FOUND) continue;
        state = gain(h, &f, x, out);
        PyBuffer_Release(&f.view);
    }
    return state;
}

static int hold(Held *h, const Py_buffer *levels, const Py_buffer *logs) {
    h->levels = levels->buf, h->columns = levels->len / 8;
    h->logs = logs->buf, h->known = logs->len / 8;
    h->base = PyMem_Malloc((size_t)(2 * h->columns + 1) * sizeof(int64_t));
    h->starts = h->base + h->columns;
    return h->base != NULL;
}

/* Notes what has no fan; 0 if something does not fit. */
static int note(PyObject *missing, PyObject *what) {
    const int kept = what && !PyList_Append(missing, what);
    Py_XDECREF(what);
    return kept;
}

/* A row without a fan: its place, its base, and the columns that are asked for as bits. */
static PyObject *lacking(const Held *h, whole row, whole width, const char *asked) {
    const whole bytes = (h->columns + 7) / 8;
    unsigned char *bits = PyMem_Calloc((size_t)bytes, 1);
    if (!bits) return PyErr_NoMemory();
    for (whole c = 0; c < h->columns; c++) bits[c / 8] |= (unsigned char)(!!asked[c] << c % 8);
    PyObject *base = key_of(h, width + 1);
    PyObject *set = PyObject_CallMethod((PyObject *)&PyLong_Type, "from_bytes", "y#s", bits, bytes,
                                        "little");
    PyMem_Free(bits);
    return Py_BuildValue("nNN", row, base, set);
}

static PyObject *told(PyObject *missing, int fits) {
    if (fits) return missing;
    Py_XDECREF(missing);
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "counts do not fit");
}

/* rows(fans, levels, logs, each, ys, given, asked, out): of each y, beside what is given, by the
   columns that are asked for. The rows that no fan serves, each with its base and these columns. */
static PyObject *rows(PyObject *self, PyObject *args) {
    Py_buffer levels, logs, ys, given, asked, out;
    PyObject *missing = PyList_New(0);
    Held h = {0};
    if (!PyArg_ParseTuple(args, "O!y*y*dy*y*y*w*", &PyDict_Type, &h.fans, &levels, &logs, &h.each,
                          &ys, &given, &asked, &out))
        return told(missing, 0);
    const whole count = ys.len / 8, width = count ? given.len / 8 / count : 0;
    int fits = missing && hold(&h, &levels, &logs) && given.len == 8 * count * width &&
        asked.len == count * h.columns && out.len == 8 * count * h.columns;
    for (whole i = 0; fits && i < count; i++) {
        const char *own = (char *)asked.buf + i * h.columns;
        const int state = by_row(&h, ((int64_t *)ys.buf)[i], (int64_t *)given.buf + i * width, width,
                                 own, (double *)out.buf + i * h.columns);
        fits = state == FOUND || (state == MISSING && note(missing, lacking(&h, i, width, own)));
    }
    PyMem_Free(h.base);
    PyBuffer_Release(&levels), PyBuffer_Release(&logs), PyBuffer_Release(&ys);
    PyBuffer_Release(&given), PyBuffer_Release(&asked), PyBuffer_Release(&out);
    return told(missing, fits);
}

/* questions(fans, levels, logs, each, width, questions, out): of (x, y, *given), so many columns
   each. The questions that no fan serves. */
static PyObject *questions(PyObject *self, PyObject *args) {
    Py_buffer levels, logs, asked, out;
    PyObject *missing = PyList_New(0);
    Held h = {0};
    whole width;
    if (!PyArg_ParseTuple(args, "O!y*y*dny*w*", &PyDict_Type, &h.fans, &levels, &logs, &h.each,
                          &width, &asked, &out))
        return told(missing, 0);
    const whole count = out.len / 8;
    int fits = missing && hold(&h, &levels, &logs) && width > 2 && asked.len == 8 * count * width;
    for (whole i = 0; fits && i < count; i++) {
        const int state = one_by_one(&h, (int64_t *)asked.buf + i * width, width, (double *)out.buf + i);
        fits = state == FOUND || (state == MISSING && note(missing, PyLong_FromSsize_t(i)));
    }
    PyMem_Free(h.base);
    PyBuffer_Release(&levels), PyBuffer_Release(&logs);
    PyBuffer_Release(&asked), PyBuffer_Release(&out);
    return told(missing, fits);
}

static PyMethodDef functions[] = {{"rows", rows, METH_VARARGS, NULL},
                                  {"questions", questions, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_gains", NULL, -1, functions};
PyMODINIT_FUNC PyInit__gains(void) { return PyModule_Create(&module); }
