/* Greedy equivalence search in rounds, on gains that are asked for row by row.

   The same as ``_rounds`` in ``ges.py`` with ``options.py`` and ``rows.py``, which say what is done
   and why, and serve where this file was not compiled. ``compiled.py`` calls it. */

#include "_options.h"

enum { MOST_ROUNDS = 10, BANKS = 2 }; /* of inserting, and of the other steps */
enum { BESIDE, TOLD, ASKED, SETS };   /* sets of a row: what is given, and of which x is told */
static const double HOPELESS = -1e12;
static const int ORDER[] = {INSERT, DELETE, TURN};

typedef struct { Word *sets; double *gains; int count, room, gains_room; } Bank; /* rows of one y */
typedef struct { int width, y, row; } Wanted;

typedef struct {
    Search s; /* comes first, so that one is the other */
    Bank *banks[BANKS];
    Wanted *wanted;
    int count, room, now, row; /* of what is wanted; the bank and the row that are looked at */
    PyObject *ask[BANKS];
    Word *seen;
} Rounds;

static Word *set_of(const Search *s, const Bank *b, int row, int set) {
    return b->sets + ((size_t)row * SETS + set) * s->words;
}

/* --- what is known ---------------------------------------------------------------------------- */

/* The place of a row, which is a new one if there is none; -1 if there is no memory. */
static int row_of(Search *s, Bank *b, const Word *given) {
    for (int row = 0; row < b->count; row++)
        if (!memcmp(set_of(s, b, row, BESIDE), given, BYTES)) return row;
    b->sets = grown(s, b->sets, &b->room, b->count + 1, SETS * BYTES);
    if (!s->failed)
        b->gains = grown(s, b->gains, &b->gains_room, b->count + 1, s->size * sizeof(double));
    if (s->failed) return -1;
    memset(set_of(s, b, b->count, 0), 0, SETS * BYTES);
    memcpy(set_of(s, b, b->count, BESIDE), given, BYTES);
    return b->count++;
}

static int members(const Search *s, const Word *set) {
    int count = 0;
    EACH(v, set) count++;
    return count;
}

/* What a row tells of x; if it does not, that is wanted. */
static double told(Search *s, int y, int row, int x) {
    Rounds *r = (Rounds *)s;
    Bank *b = &r->banks[r->now][y];
    if (row < 0) return NAN;
    if (has(set_of(s, b, row, TOLD), x)) return b->gains[(size_t)row * s->size + x];
    if (empty(s, set_of(s, b, row, ASKED))) {
        r->wanted = grown(s, r->wanted, &r->room, r->count + 1, sizeof(Wanted));
        if (s->failed) return NAN;
        r->wanted[r->count++] = (Wanted){members(s, set_of(s, b, row, BESIDE)), y, row};
    }
    put(set_of(s, b, row, ASKED), x);
    return NAN;
}

static void look(Search *s, int y, const Word *given) {
    Rounds *r = (Rounds *)s;
    r->row = row_of(s, &r->banks[r->now][y], given);
}

static double insertion(Search *s, int x, int y) { return told(s, y, ((Rounds *)s)->row, x); }

static double gain(Search *s, int x, int y, const Word *given) {
    Rounds *r = (Rounds *)s;
    const int first = x < y ? x : y, second = x < y ? y : x;
    return told(s, first, row_of(s, &r->banks[r->now][first], given), second);
}

/* Drops the rows that no insertion above y can ask for in this class, but for that of pairs. */
static void forget(Search *s, Bank *b, int y) {
    const Word *parents = SET(s->now, PARENTS, y);
    int kept = 0;
    WORDS HANDY(HAND)[w] = parents[w] | SET(s->now, LINES, y)[w];
    for (int row = 0; row < b->count; row++) {
        const Word *given = set_of(s, b, row, BESIDE);
        if (!empty(s, given) &&
            !(within(s, parents, given, -1) && within(s, given, HANDY(HAND), -1)))
            continue;
        memmove(set_of(s, b, kept, 0), set_of(s, b, row, 0), SETS * BYTES);
        memmove(b->gains + (size_t)kept++ * s->size, b->gains + (size_t)row * s->size,
                s->size * sizeof(double));
    }
    b->count = kept;
}

/* --- what is asked ---------------------------------------------------------------------------- */

/* By how many are given, by y, and by what is given as a number. */
static int before(const Rounds *r, const Wanted *a, const Wanted *b) {
    const Search *s = &r->s;
    if (a->width != b->width) return a->width < b->width;
    if (a->y != b->y) return a->y < b->y;
    const Bank *bank = &r->banks[r->now][a->y];
    const Word *one = set_of(s, bank, a->row, BESIDE), *other = set_of(s, bank, b->row, BESIDE);
    for (int w = s->words - 1; w > 0; w--)
        if (one[w] != other[w]) return one[w] < other[w];
    return one[0] < other[0];
}

static void put_in_order(Rounds *r) {
    for (int i = 1; i < r->count; i++) {
        const Wanted own = r->wanted[i];
        int at = i;
        for (; at && before(r, &own, &r->wanted[at - 1]); at--) r->wanted[at] = r->wanted[at - 1];
        r->wanted[at] = own;
    }
}

/* How many numbers answer for some rows: of all columns, or of those that are asked for. */
static int answers_to(const Rounds *r, const Wanted *some, int count) {
    int asked = 0;
    for (int i = 0; r->now && i < count; i++)
        asked += members(&r->s, set_of(&r->s, &r->banks[1][some[i].y], some[i].row, ASKED));
    return r->now ? asked : count * r->s.size;
}

/* Keeps the answers for some rows; 0 if they are none. */
static int keep(Rounds *r, const Wanted *some, int count, PyObject *answers) {
    Search *s = &r->s;
    Py_buffer view;
    if (PyObject_GetBuffer(answers, &view, PyBUF_C_CONTIGUOUS)) return 0;
    const int fit = view.len == (Py_ssize_t)(answers_to(r, some, count) * sizeof(double));
    const double *own = view.buf;
    for (int i = 0; fit && i < count; i++) {
        Bank *b = &r->banks[r->now][some[i].y];
        const double *found = (const double *)view.buf + (size_t)i * s->size;
        Word *asked = set_of(s, b, some[i].row, ASKED), *known = set_of(s, b, some[i].row, TOLD);
        EACH(x, asked) {
            const double gain = r->now ? *own++ : found[x];
            b->gains[(size_t)some[i].row * s->size + x] = gain < HOPELESS ? HOPELESS : gain;
        }
        WORDS known[w] |= asked[w], asked[w] = 0;
    }
    PyBuffer_Release(&view);
    if (!fit) PyErr_Format(PyExc_ValueError, "wrong answers");
    return fit;
}

/* Asks for rows with the same number of columns given: ys, what is given, and flags of the x. */
static PyObject *ask_rows(Rounds *r, const Wanted *some, int count) {
    Search *s = &r->s;
    const int width = some[0].width;
    PyObject *ys = PyBytes_FromStringAndSize(NULL, count * sizeof(int64_t));
    PyObject *given = PyBytes_FromStringAndSize(NULL, count * width * sizeof(int64_t));
    PyObject *flags = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)count * s->size);
    PyObject *answers = NULL;
    const int there = ys && given && flags;
    for (int i = 0; there && i < count; i++) {
        const Bank *b = &r->banks[0][some[i].y];
        int64_t *to = (int64_t *)PyBytes_AsString(given) + (size_t)i * width;
        ((int64_t *)PyBytes_AsString(ys))[i] = some[i].y;
        EACH(v, set_of(s, b, some[i].row, BESIDE)) *to++ = v;
        spell(s, set_of(s, b, some[i].row, ASKED), 1, PyBytes_AsString(flags) + (size_t)i * s->size);
    }
    if (there) answers = PyObject_CallFunctionObjArgs(r->ask[0], ys, given, flags, NULL);
    Py_XDECREF(ys), Py_XDECREF(given), Py_XDECREF(flags);
    return answers;
}

/* Asks for gains, question by question: the two columns, and as many given beside each. */
static PyObject *ask_gains(Rounds *r, const Wanted *some, int count) {
    Search *s = &r->s;
    const Py_ssize_t width = some[0].width + 2, asked = answers_to(r, some, count);
    PyObject *all = PyBytes_FromStringAndSize(NULL, asked * width * (Py_ssize_t)sizeof(int64_t));
    int64_t *to = all ? (int64_t *)PyBytes_AsString(all) : NULL;
    for (int i = 0; to && i < count; i++) {
        const Bank *b = &r->banks[1][some[i].y];
        EACH(x, set_of(s, b, some[i].row, ASKED)) {
            *to++ = some[i].y, *to++ = x;
            EACH(v, set_of(s, b, some[i].row, BESIDE)) *to++ = v;
        }
    }
    PyObject *answers = all ? PyObject_CallFunction(r->ask[1], "On", all, width) : NULL;
    Py_XDECREF(all);
    return answers;
}

static int ask(Rounds *r, const Wanted *some, int count) {
    PyObject *answers = (r->now ? ask_gains : ask_rows)(r, some, count);
    const int done = answers && keep(r, some, count, answers);
    Py_XDECREF(answers);
    return done;
}

static void weigh(Search *s, int kind) {
    Rounds *r = (Rounds *)s;
    r->now = kind != INSERT;
    if (kind == INSERT) EACH(y, s->stale[kind]) forget(s, &r->banks[0][y], y);
    do {
        r->count = 0;
        EACH(y, s->stale[kind]) if (!s->failed) list(s, kind, y);
        put_in_order(r);
        for (int start = 0, end = 0; start < r->count && !s->failed; start = end) {
            while (end < r->count && r->wanted[end].width == r->wanted[start].width) end++;
            if (!ask(r, r->wanted + start, end - start)) s->failed = STOPPED;
        }
    } while (r->count && !s->failed);
    memset(s->stale[kind], 0, BYTES);
}

/* --- the search ------------------------------------------------------------------------------- */

static void phase(Search *s, int kind) {
    for (int y = 0; kind == TURN && y < s->size; y++)
        if (!empty(s, SET(s->turned, 0, y))) put(s->stale[kind], y);
    memset(s->turned, 0, s->size * BYTES);
    while (!s->failed) {
        const Option taken = step(s, kind);
        if (!(taken.worth > 0)) return;
        if (kind == TURN) put(SET(s->turned, 0, taken.y), taken.x), put(s->stale[kind], taken.y);
        heed(s);
    }
}

/* All phases in turn, until a round ends where one began. */
static void search(Rounds *r) {
    Search *s = &r->s;
    const size_t bytes = s->size * BYTES;
    for (int round = 0; round < MOST_ROUNDS && !s->failed; round++) {
        Word *own = r->seen + (size_t)round * s->size * s->words;
        memcpy(own, SET(s->now, ONWARD, 0), bytes);
        for (const Word *one = r->seen; one < own; one += (size_t)s->size * s->words)
            if (!memcmp(one, own, bytes)) return;
        for (int i = 0; i < KINDS; i++) phase(s, ORDER[i]);
    }
}

/* --- Python ----------------------------------------------------------------------------------- */

static void release_all(Rounds *r) {
    for (int bank = 0; bank < BANKS; bank++) {
        for (int y = 0; r->banks[bank] && y < r->s.size; y++)
            free(r->banks[bank][y].sets), free(r->banks[bank][y].gains);
        free(r->banks[bank]);
    }
    free(r->wanted), free(r->seen), free(r->s.limits);
    release(&r->s);
}

/* What is known of pairs with nothing given. */
static void begin(Rounds *r, const char *flags, const double *gains) {
    Search *s = &r->s;
    memset(HANDY(GIVEN), 0, BYTES);
    for (int y = 0; y < s->size && !s->failed; y++) {
        Bank *b = &r->banks[0][y];
        if (row_of(s, b, HANDY(GIVEN)) < 0) return;
        set_up(s, flags + (size_t)y * s->size, 1, set_of(s, b, 0, TOLD));
        memcpy(b->gains, gains + (size_t)y * s->size, s->size * sizeof(double));
    }
}

/* Flags, part after part: those of a class, what may be joined, what is told of pairs, limits. */
static void run(Rounds *r, char *parts, const double *pairs, int limited) {
    Search *s = &r->s;
    const size_t size = (size_t)s->size, rows = PARTS * size;
    int there = reserve(s);
    for (int bank = 0; bank < BANKS; bank++)
        there &= !!(r->banks[bank] = calloc(size, sizeof(Bank)));
    there &= !!(r->seen = calloc(MOST_ROUNDS * size, BYTES));
    if (limited) there &= !!(s->limits = calloc(size, BYTES));
    if (!there) s->failed = NO_MEMORY;
    if (s->failed) return;
    set_up(s, parts, rows, s->now), set_up(s, parts, rows, s->next);
    set_up(s, parts + rows * size, size, s->possible);
    if (limited) set_up(s, parts + (rows + 2 * size) * size, size, s->limits);
    begin(r, parts + (rows + size) * size, pairs);
    if (!s->failed) search(r);
    spell(s, s->now, rows, parts);
}

/* rounds(size, parts, pairs, rows, gains, limited, max_parents): whether it came to an end. */
static PyObject *rounds(PyObject *self, PyObject *args) {
    Py_buffer parts, pairs;
    Rounds r = {0};
    int limited;
    if (!PyArg_ParseTuple(args, "iw*y*OOpi", &r.s.size, &parts, &pairs, &r.ask[0], &r.ask[1],
                          &limited, &r.s.max_parents))
        return NULL;
    const Py_ssize_t size = r.s.size, square = size * size;
    if (size < 1 || size > LARGEST || parts.len != (PARTS + 2 + limited) * square ||
        pairs.len != 8 * square) {
        PyErr_Format(PyExc_ValueError, "wrong arrays");
    } else {
        run(&r, parts.buf, pairs.buf, limited);
        release_all(&r);
        if (r.s.failed == NO_MEMORY) PyErr_NoMemory();
    }
    PyBuffer_Release(&parts), PyBuffer_Release(&pairs);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(r.s.failed == DONE);
}

static PyMethodDef functions[] = {{"rounds", rounds, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_rounds", NULL, -1, functions};
PyMODINIT_FUNC PyInit__rounds(void) { return PyModule_Create(&module); }
