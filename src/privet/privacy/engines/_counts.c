/* Counts of rows: by maps of bits (``bitmaps.py``), and row by row (``packed.py``, ``work.py``).

   These files do the same in arrays, and serve where this one was not compiled. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define IN_LINES __attribute__((aligned(64))) /* of the cache, as maps are */
#else
#define INLINE static inline
#define IN_LINES
#endif

typedef Py_ssize_t whole;
enum { BLOCK = 256, LANES = 4, TURNS = 2, MOST_CELLS = 1 << 16, MOST_COLUMNS = 64 }; /* BLOCK: words worked on at once */
/* Words, and rows, that are looked at before Python looks at signals: in a tenth of a second. */
enum { MOST_WORK = 1 << 27, MOST_ROWS = 1 << 22, SOME_ROWS = 1 << 10 };

typedef struct { int64_t start, levels; } Column; /* where its maps are, and how many */

typedef struct { /* a base and other columns, maps under each other, and how many rows each has */
    const uint64_t *maps;
    const int64_t *margins;
    const Column *base, *others;
    whole words, bases, beside, cells, width;
    uint64_t *scratch; /* a block of each cell of the base */
    int64_t *out; /* cells by the levels of all others */
} Fan;

INLINE int64_t bits(uint64_t v) {
#if defined(__GNUC__)
    return __builtin_popcountll(v);
#else
    v -= v >> 1 & 0x5555555555555555u;
    v = (v & 0x3333333333333333u) + (v >> 2 & 0x3333333333333333u);
    return (int64_t)(((v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
#endif
}

/* Which rows of a block are in a cell of the base. */
INLINE void find(const Fan *f, whole cell, whole start, whole count, uint64_t *out) {
    for (whole b = f->bases - 1; b >= 0; b--) {
        const uint64_t *map = f->maps
            + (f->base[b].start + cell % f->base[b].levels) * f->words + start;
        for (whole w = 0; w < count; w++) out[w] = b == f->bases - 1 ? map[w] : out[w] & map[w];
        cell /= f->base[b].levels;
    }
}

/* All cells but the last, and all levels but the last of a column, in which stand all rows. */
INLINE void count(const Fan *f, whole start, whole end) {
    for (; start < end; start += BLOCK) {
        whole size = start + BLOCK < end ? BLOCK : end - start;
        for (whole c = 0; c < f->cells - 1; c++) {
            uint64_t *cell = f->scratch;
            int64_t *out = f->out + c * f->width, rows = 0;
            find(f, c, start, size, cell);
            for (whole w = 0; w < size; w++) rows += bits(cell[w]);
            for (whole o = 0; o < f->beside; o++) {
                whole last = f->others[o].levels - 1;
                for (whole l = 0; rows && l < last; l++) {
                    const uint64_t *map = f->maps + (f->others[o].start + l) * f->words + start;
                    int64_t sum = 0;
                    for (whole w = 0; w < size; w++) sum += bits(cell[w] & map[w]);
                    out[l] += sum;
                }
                out[last] += rows, out += last + 1;
            }
        }
    }
}

/* What is left: of the rows of a cell for the last level, of those of a level for the last cell. */
static void complete(const Fan *f) {
    for (whole o = 0, at = 0; o < f->beside; at += f->others[o++].levels) {
        whole levels = f->others[o].levels;
        for (whole c = 0; c < f->cells - 1; c++)
            for (whole l = at; l < at + levels - 1; l++)
                f->out[c * f->width + at + levels - 1] -= f->out[c * f->width + l];
        for (whole l = 0; l < levels; l++) {
            int64_t *last = f->out + (f->cells - 1) * f->width + at + l;
            *last = f->margins[f->others[o].start + l];
            for (whole c = 0; c < f->cells - 1; c++) *last -= f->out[c * f->width + at + l];
        }
    }
}

#if defined(__GNUC__) && defined(__x86_64__) /* nearly all of these count bits at a stroke */
__attribute__((target("popcnt")))
static void count_at_a_stroke(const Fan *f, whole start, whole end) { count(f, start, end); }
__attribute__((target("avx512f,avx512vl,avx512vpopcntdq"))) /* and some, those of several words */
static void count_together(const Fan *f, whole start, whole end) { count(f, start, end); }
#endif

static void count_any(const Fan *f, whole start, whole end) {
#if defined(__GNUC__) && defined(__x86_64__)
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq")) {
        count_together(f, start, end);
        return;
    }
    if (__builtin_cpu_supports("popcnt")) {
        count_at_a_stroke(f, start, end);
        return;
    }
#endif
    count(f, start, end);
}

/* The levels of some columns together; 0 if there is none, or one that is not among the maps. */
static whole width_of(const Column *columns, whole count, whole maps) {
    whole sum = 0;
    for (whole i = 0; i < count; i++) {
        const Column *own = columns + i;
        if (own->start < 0 || own->levels < 1 || own->levels > maps - own->start) return 0;
        sum += own->levels;
    }
    return sum;
}

/* The cells of their table; 0 if there are too many. */
static whole cells_of(const Column *columns, whole count) {
    whole cells = 1;
    for (whole i = 0; i < count; i++)
        if ((cells *= columns[i].levels) > MOST_CELLS) return 0;
    return cells;
}

/* Counts the rows of a fan into ``out``, which is zero; -1 if a signal says otherwise. */
static int counted(const Fan *f) {
    whole step = (MOST_WORK / (f->cells * f->width) / BLOCK + 1) * BLOCK;
    for (whole start = 0; start < f->words; start += step) {
        if (PyErr_CheckSignals()) return -1;
        Py_BEGIN_ALLOW_THREADS
        count_any(f, start, step < f->words - start ? start + step : f->words);
        Py_END_ALLOW_THREADS
    }
    complete(f);
    return 0;
}

/* Where the maps of some columns are; 0 if one has none. */
static int find_maps(PyObject *served, PyObject *names, const Column *bounds, whole known,
                     Column *out) {
    for (whole i = 0; i < PyTuple_Size(names); i++) {
        PyObject *at = PyDict_GetItem(served, PyTuple_GetItem(names, i));
        whole place = at ? PyLong_AsSsize_t(at) : -1;
        if (place < 0 || place >= known) return 0;
        out[i] = bounds[place];
    }
    return 1;
}

/* The cells and the counts of one fan, a pair of tuples of names; None if it has no maps or too many
   cells. */
static PyObject *one_fan(Fan f, whole maps, PyObject *pair, PyObject *served, const Py_buffer *bounds,
                         whole most) {
    PyObject *base = PyTuple_GetItem(pair, 0), *others = PyTuple_GetItem(pair, 1), *out;
    if (!base || !others) return NULL;
    f.bases = PyTuple_Size(base), f.beside = PyTuple_Size(others);
    if (f.bases < 1 || f.beside < 1)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "an empty fan");
    Column *columns = PyMem_Malloc((size_t)(f.bases + f.beside) * sizeof(Column));
    if (!columns) return PyErr_NoMemory();
    const whole known = bounds->len / (whole)sizeof(Column);
    int fits = find_maps(served, base, bounds->buf, known, columns) &&
        find_maps(served, others, bounds->buf, known, columns + f.bases);
    f.base = columns, f.others = columns + f.bases;
    f.width = fits && width_of(f.base, f.bases, maps) ? width_of(f.others, f.beside, maps) : 0;
    f.cells = f.width ? cells_of(f.base, f.bases) : 0;
    if (!f.cells || f.cells > most) {
        PyMem_Free(columns);
        return PyErr_Occurred() ? NULL : Py_BuildValue("");
    }
    const size_t size = (size_t)(f.cells * f.width) * sizeof(int64_t);
    if ((out = PyByteArray_FromStringAndSize(NULL, (whole)size))) {
        f.out = memset(PyByteArray_AsString(out), 0, size);
        if (counted(&f)) Py_DECREF(out), out = NULL;
    }
    PyMem_Free(columns);
    return out ? Py_BuildValue("nN", f.cells, out) : NULL;
}

/* fans(maps, margins, bounds, served, asked, most): for each base and some others, how many cells the
   table of the base has, and how many rows have each of these and each level of the others.
   ``bounds`` has (start, levels) of the columns that are served, which are found by name. A fan that
   is not served, or whose base has more cells than ``most``, is None. */
static PyObject *fans(PyObject *self, PyObject *args) {
    Py_buffer maps, margins, bounds;
    PyObject *served, *asked, *found = NULL;
    uint64_t scratch[BLOCK] IN_LINES;
    Fan f = {0};
    whole most;
    if (!PyArg_ParseTuple(args, "y*y*y*O!O!n", &maps, &margins, &bounds, &PyDict_Type, &served,
                          &PyTuple_Type, &asked, &most))
        return NULL;
    const whole count = margins.len / 8;
    f.maps = maps.buf, f.margins = margins.buf, f.scratch = scratch;
    if (count) f.words = maps.len / 8 / count;
    found = PyList_New(PyTuple_Size(asked));
    for (whole i = 0; found && i < PyTuple_Size(asked); i++) {
        PyObject *one = one_fan(f, count, PyTuple_GetItem(asked, i), served, &bounds, most);
        if (!one) Py_DECREF(found), found = NULL;
        else PyList_SetItem(found, i, one);
    }
    PyBuffer_Release(&maps), PyBuffer_Release(&margins), PyBuffer_Release(&bounds);
    return found;
}

/* Counts rows in a few columns at once, so that one cell need not wait for another. */
static void tally(const uint16_t *key, whole first, whole end, const uint8_t **codes, int64_t **out,
                  int lanes, whole width) {
    if (lanes == LANES) {
        for (whole r = first; r < end; r++) {
            whole at = key[r] * width;
            for (int l = 0; l < LANES; l++) out[l][at + codes[l][r]]++;
        }
        return;
    }
    for (int l = 0; l < lanes; l++)
        for (whole r = first; r < end; r++) out[l][key[r] * width + codes[l][r]]++;
}

static int below(const uint8_t *codes, whole rows, whole levels) {
    uint8_t most = 0;
    for (whole r = 0; r < rows; r++) most = codes[r] > most ? codes[r] : most;
    return !rows || most < levels;
}

static int keys_below(const uint16_t *key, whole rows, whole cells) {
    uint16_t most = 0;
    for (whole r = 0; r < rows; r++) most = key[r] > most ? key[r] : most;
    return !rows || most < cells;
}

/* tallied(key, codes, levels, out): counts each row into a table that has a line for each key and
   in it, one column after the other, a cell for each level. -1 if a code is none of these. */
static PyObject *tallied(PyObject *self, PyObject *args) {
    PyObject *columns, *levels;
    Py_buffer key, out, held[LANES];
    const uint8_t *codes[LANES];
    int64_t *tables[LANES];
    whole width = 0, start = 0;
    if (!PyArg_ParseTuple(args, "y*O!O!w*", &key, &PyTuple_Type, &columns, &PyTuple_Type, &levels,
                          &out))
        return NULL;
    whole rows = key.len / 2, count = PyTuple_Size(columns);
    int fits = PyTuple_Size(levels) == count;
    for (whole c = 0; fits && c < count; c++) {
        whole own = PyLong_AsSsize_t(PyTuple_GetItem(levels, c));
        fits = own > 0, width += own;
    }
    fits = fits && width && keys_below(key.buf, rows, out.len / 8 / width);
    for (whole c = 0; fits && c < count; c += LANES) {
        int lanes = 0;
        for (; fits && lanes < LANES && c + lanes < count; lanes++) {
            whole own = PyLong_AsSsize_t(PyTuple_GetItem(levels, c + lanes));
            if (PyObject_GetBuffer(PyTuple_GetItem(columns, c + lanes), &held[lanes], PyBUF_SIMPLE))
                break;
            codes[lanes] = held[lanes].buf, tables[lanes] = (int64_t *)out.buf + start;
            fits = held[lanes].len == rows && below(codes[lanes], rows, own);
            start += own;
        }
        fits = fits && !PyErr_Occurred();
        for (whole r = 0; fits && r < rows; r += MOST_ROWS) {
            whole end = MOST_ROWS < rows - r ? r + MOST_ROWS : rows;
            tally(key.buf, r, end, codes, tables, lanes, width);
            fits = !PyErr_CheckSignals();
        }
        while (lanes) PyBuffer_Release(&held[--lanes]);
    }
    PyBuffer_Release(&key), PyBuffer_Release(&out);
    if (fits) return Py_BuildValue("");
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "codes do not fit the table");
}

/* One more column of some rows' cells: codes of one byte, or of two. */
static void extend(uint16_t *cell, const Py_buffer *codes, whole first, whole count, whole levels) {
    const uint8_t *narrow = codes->buf;
    const uint16_t *wide = codes->buf, size = (uint16_t)levels;
    if (codes->itemsize == 1)
        for (whole r = 0; r < count; r++) cell[r] = (uint16_t)(cell[r] * size + narrow[first + r]);
    else
        for (whole r = 0; r < count; r++) cell[r] = (uint16_t)(cell[r] * size + wide[first + r]);
}

/* Counts rows, by weight if they have one, into a table; 0 if a cell is not in it. Rows take turns
   at ``lanes``, tables that are added up in the end, so that none need wait for the one before. */
static int count_cells(const Py_buffer *codes, const whole *levels, whole columns,
                       const uint8_t *weights, whole rows, int64_t *out, whole cells,
                       int64_t *lanes) {
    uint16_t cell[SOME_ROWS];
    for (whole first = 0; first < rows; first += SOME_ROWS) {
        const whole count = SOME_ROWS < rows - first ? SOME_ROWS : rows - first;
        memset(cell, 0, sizeof cell);
        for (whole c = 0; c < columns; c++) extend(cell, codes + c, first, count, levels[c]);
        if (!keys_below(cell, count, cells)) return 0;
        for (whole r = 0; r < count; r++)
            lanes[r % TURNS * cells + cell[r]] += weights ? weights[first + r] : 1;
    }
    for (whole l = 0; l < TURNS; l++)
        for (whole c = 0; c < cells; c++) out[c] += lanes[l * cells + c];
    return 1;
}

/* counted(out, codes, levels, weights): adds each row to its cell in the table of these columns,
   once or as often as its weight says. */
static PyObject *counted_rows(PyObject *self, PyObject *args) {
    PyObject *columns, *levels;
    Py_buffer out, weights, held[MOST_COLUMNS];
    whole sizes[MOST_COLUMNS], taken = 0, rows = 0;
    if (!PyArg_ParseTuple(args, "w*O!O!z*", &out, &PyTuple_Type, &columns, &PyTuple_Type, &levels,
                          &weights))
        return NULL;
    const whole count = PyTuple_Size(columns);
    int fits = count > 0 && count <= MOST_COLUMNS && PyTuple_Size(levels) == count;
    for (; fits && taken < count; taken++) {
        Py_buffer *own = held + taken;
        sizes[taken] = PyLong_AsSsize_t(PyTuple_GetItem(levels, taken));
        if (PyObject_GetBuffer(PyTuple_GetItem(columns, taken), own, PyBUF_ND)) break;
        if (!taken) rows = own->len / own->itemsize;
        fits = own->itemsize <= 2 && own->len == rows * own->itemsize;
    }
    const whole cells = out.len / 8;
    fits = fits && !PyErr_Occurred() && (!weights.buf || weights.len == rows) && cells <= MOST_CELLS;
    int64_t *lanes = PyMem_Calloc(TURNS * (size_t)(fits ? cells : 1), sizeof(int64_t));
    if (!lanes) PyErr_NoMemory();
    fits = fits && lanes &&
        count_cells(held, sizes, count, weights.buf, rows, out.buf, cells, lanes);
    PyMem_Free(lanes);
    while (taken) PyBuffer_Release(&held[--taken]);
    PyBuffer_Release(&out), PyBuffer_Release(&weights);
    if (fits) return Py_BuildValue("");
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "codes do not fit the table");
}

static PyMethodDef functions[] = {{"fans", fans, METH_VARARGS, NULL},
                                  {"tallied", tallied, METH_VARARGS, NULL},
                                  {"counted", counted_rows, METH_VARARGS, NULL},
                                  {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_counts", NULL, -1, functions};
PyMODINIT_FUNC PyInit__counts(void) { return PyModule_Create(&module); }
