/* The skeleton of PC: ``skeleton.py`` with ``blocks.py``, ``consistent.py`` and ``pc.py``, which say
   what is done and why, on tests in closed form. */

#include "_explained.h"

/* --- what is asked ---------------------------------------------------------------------------- */

static void keep(Skeleton *k, double margin) {
    const Search *s = k->asker.s;
    double through = HUGE_VAL;
    if (k->count == k->room) {
        const int64_t room = 2 * k->room + 256;
        Found *more = realloc(k->found, (size_t)room * sizeof(Found));
        if (!more) return (void)(k->asker.s->failed = NO_MEMORY);
        k->found = more, k->room = room;
    }
    Found *one = k->found + k->count++;
    *one = (Found){0, margin, k->x, k->y, {0}};
    for (int i = 0; i < k->order; i++) {
        const int z = one->given[i] = s->given[i];
        through = fmin(through, fmin(k->strength[PAIR(k, k->x, z)], k->strength[PAIR(k, k->y, z)]));
    }
    one->weakness = k->strength[PAIR(k, k->x, k->y)] / (k->order ? through : 1);
    one->weakness *= exp(SURENESS * margin);
}

/* Whether the question could explain the edge: its members lie on paths between the ends, and none
   was separated from one end by the other alone. */
static int useful(const Skeleton *k) {
    const int *given = k->asker.s->given, own = k->block[PAIR(k, k->x, k->y)];
    int beside_x = 1, beside_y = 1;
    for (int i = 0; i < k->order; i++) {
        const int32_t *of_x = SEPARATOR(k, k->x, given[i]), *of_y = SEPARATOR(k, k->y, given[i]);
        beside_x &= k->block[PAIR(k, k->x, given[i])] == own;
        beside_y &= k->block[PAIR(k, k->y, given[i])] == own;
        if ((of_x[0] == 1 && of_x[1] == k->y) || (of_y[0] == 1 && of_y[1] == k->x)) return 0;
    }
    return beside_x || beside_y;
}

/* Asks about x and y given the first ``order`` columns. Without noise a margin grows with the size
   of the correlation: one that is not the smallest need not be known where it speaks for an edge. */
static void ask_pair(Skeleton *k) {
    Search *s = k->asker.s;
    if (k->dear && !useful(k)) return;
    k->heard.count++;
    const double *left = k->left[k->order], size = left[2] * left[2] / (left[0] * left[1]);
    if (!s->doubt[1] && size >= k->safe && size >= k->least) return;
    const double found = margin(s, k->order, k->x, k->y, left[1]);
    double *lowest = k->lowest + PAIR(k, k->x, k->y);
    k->least = fmin(k->least, size), *lowest = fmin(*lowest, found);
    if (found >= 0) k->safe = fmin(k->safe, size);
    hear(&k->heard, s->size, k->x, k->y, found, s->given, k->order);
    if (found < 0) keep(k, found);
}

/* Takes out of x and y what one more column z says about them, beside the first ``depth``. */
static void give(Skeleton *k, int depth, int z) {
    Search *s = k->asker.s;
    const double *own = s->matrix + (size_t)z * s->size;
    double *row = s->root + (size_t)depth * s->size, left = own[z];
    double *of_y = s->solved, *of_x = s->solved + s->size, y = own[k->y], x = own[k->x];
    s->given[depth] = z;
    for (int j = 0; j < depth; j++) {
        const double *other = s->root + (size_t)j * s->size;
        double value = own[s->given[j]];
        for (int i = 0; i < j; i++) value -= row[i] * other[i];
        row[j] = value / other[j];
        left -= row[j] * row[j], x -= row[j] * of_x[j], y -= row[j] * of_y[j];
    }
    row[depth] = sqrt(left), x = of_x[depth] = x / row[depth], y = of_y[depth] = y / row[depth];
    const double *before = k->left[depth];
    double *after = k->left[depth + 1];
    after[0] = before[0] - x * x, after[1] = before[1] - y * y, after[2] = before[2] - x * y;
    if (!(left > LEAST * own[z] && after[0] > LEAST && after[1] > LEAST)) s->failed = UNFIT;
}

/* All sets of ``order`` members with those given already; ``known``: but those all of which are in
   it, if it is not NULL. */
static void choose(Skeleton *k, int depth, const int *members, int count, const Word *known) {
    if (depth == k->order) {
        int fresh = !known;
        for (int i = 0; !fresh && i < k->order; i++) fresh = !has(known, k->asker.s->given[i]);
        if (fresh) ask_pair(k);
        return;
    }
    for (int i = 0; i + k->order - depth <= count && !k->asker.s->failed; i++) {
        give(k, depth, members[i]);
        if (!k->asker.s->failed) choose(k, depth + 1, members + i + 1, count - i - 1, known);
    }
}

/* The members of a set, of two sets (or NULL), without x and y; how many. */
static int listed(Skeleton *k, const Word *set, const Word *other) {
    const Search *s = k->asker.s;
    int count = 0;
    WORDS for (Word left = set[w] | (other ? other[w] : 0); left; left &= left - 1) {
        const int v = w * WORD + lowest(left);
        if (v != k->x && v != k->y) k->members[count++] = v;
    }
    return count;
}

static void ask_about(Skeleton *k, int x, int y) {
    const double *matrix = k->asker.s->matrix, of_x = matrix[PAIR(k, x, x)];
    const double start[] = {of_x, matrix[PAIR(k, y, y)], matrix[PAIR(k, x, y)]};
    const Word *of[] = {OF(k, near, x), OF(k, near, y)};
    k->x = x, k->y = y, k->least = HUGE_VAL;
    memcpy(k->left[0], start, sizeof start);
    if (k->order < 2) {
        choose(k, 0, k->members, k->order ? listed(k, of[0], of[1]) : 0, NULL);
        return;
    }
    choose(k, 0, k->members, listed(k, of[0], NULL), NULL);
    choose(k, 0, k->members, listed(k, of[1], NULL), of[0]);
}

/* Of a column with many neighbours only the strongest count, the first of those alike. */
static void find_near(Skeleton *k) {
    const Search *s = k->asker.s;
    for (int v = 0; v < s->size; v++) {
        Word *near = OF(k, near, v);
        int count = 0;
        memcpy(near, OF(k, neighbours, v), BYTES);
        EACH(u, near) count++;
        for (; k->order > 1 && count > WIDEST; count--) {
            int weakest = -1;
            EACH(u, near)
                if (weakest < 0 || k->strength[PAIR(k, v, u)] <= k->strength[PAIR(k, v, weakest)])
                    weakest = u;
            drop(near, weakest);
        }
    }
}

/* --- which edges are on a common circle ------------------------------------------------------- */

static int top_of(Skeleton *k, int v) {
    for (; k->group[v] != v; v = k->group[v]) k->group[v] = k->group[k->group[v]];
    return v;
}

static void span(Skeleton *k) {
    const Search *s = k->asker.s;
    for (int v = 0; v < s->size; v++) k->above[v] = k->group[v] = v, k->depth[v] = -1;
    for (int top = 0; top < s->size; top++) {
        int waiting = 0;
        if (k->depth[top] >= 0) continue;
        k->depth[top] = 0, k->members[waiting++] = top;
        for (int i = 0; i < waiting; i++) {
            const int v = k->members[i];
            EACH(u, OF(k, neighbours, v)) if (k->depth[u] < 0)
                k->above[u] = v, k->depth[u] = k->depth[v] + 1, k->members[waiting++] = u;
        }
    }
}

static void find_blocks(Skeleton *k) {
    const int size = k->asker.s->size;
    span(k);
    for (int x = 0; x < size; x++)
        for (int y = x + 1; y < size; y++) {
            int a = x, b = y, met = -1; /* met: an edge of this circle, by its lower end */
            if (!k->joined[PAIR(k, x, y)]) continue;
            while (a != b) {
                if (k->depth[a] < k->depth[b]) a ^= b, b ^= a, a ^= b;
                const int own = top_of(k, a);
                a = k->above[a], met = met < 0 ? own : met;
                k->group[own] = met = top_of(k, met);
            }
        }
    for (int x = 0; x < size; x++)
        for (int y = 0; y < size; y++)
            k->block[PAIR(k, x, y)] =
                k->joined[PAIR(k, x, y)] ? top_of(k, k->depth[x] >= k->depth[y] ? x : y) : -1;
}

static void forget(Skeleton *k) {
    const size_t square = (size_t)k->asker.s->size * k->asker.s->size;
    for (size_t i = 0; i < square; i++) k->lowest[i] = HUGE_VAL;
}

/* Asks about all pairs x < y with a flag, as long as nothing explains them. */
static void ask_all(Skeleton *k, const char *flags) {
    Search *s = k->asker.s;
    k->count = 0, k->safe = HUGE_VAL;
    find_near(k);
    for (int x = 0; x < s->size && !s->failed; x++) {
        for (int y = x + 1; y < s->size && !s->failed; y++)
            if (flags[PAIR(k, x, y)] && k->lowest[PAIR(k, x, y)] >= 0) ask_about(k, x, y);
        if (!s->failed) heed(s); /* a column takes a moment, even of a thousand */
    }
}

static void prune(Skeleton *k) {
    Search *s = k->asker.s;
    for (k->order = 0; k->order <= k->most && !s->failed; k->order++) {
        k->dear = k->order == k->most && k->order >= DEAR;
        memcpy(k->before, k->lowest, (size_t)s->size * s->size * sizeof(double));
        forget(k);
        if (k->dear) find_blocks(k);
        ask_all(k, k->joined);
        if (!s->failed) explain(k);
    }
}

/* --- what the skeleton denies ----------------------------------------------------------------- */

/* Whether the separator of a pair, if it has one, is among the neighbours of one end. */
static int sound(const Skeleton *k, int x, int y) {
    const int32_t *separator = SEPARATOR(k, x, y);
    int of_x = 1, of_y = 1;
    for (int i = 1; i <= separator[0]; i++)
        of_x &= k->joined[PAIR(k, x, separator[i])], of_y &= k->joined[PAIR(k, y, separator[i])];
    return of_x || of_y;
}

static void join(Skeleton *k, int x, int y) {
    k->joined[PAIR(k, x, y)] = k->joined[PAIR(k, y, x)] = 1;
    put(OF(k, neighbours, x), y), put(OF(k, neighbours, y), x);
    SEPARATOR(k, x, y)[0] = SEPARATOR(k, y, x)[0] = -1;
}

/* Joins the surest of the pairs that no neighbours explain; whether there are any. */
static int restore(Skeleton *k) {
    const int size = k->asker.s->size;
    int some = 0;
    for (int x = 0; x < size; x++)
        for (int y = x + 1; y < size; y++) some |= k->open[PAIR(k, x, y)] = !sound(k, x, y);
    forget(k);
    for (k->order = 0, k->dear = 0; some && k->order <= k->most; k->order++) ask_all(k, k->open);
    if (!some || k->asker.s->failed) return 0;
    for (int x = 0; x < size; x++) k->surest[x] = 0;
    for (int x = 0; x < size; x++)
        for (int y = x + 1; y < size; y++) {
            const double told = k->open[PAIR(k, x, y)] ? k->lowest[PAIR(k, x, y)] : 0;
            k->surest[x] = fmax(k->surest[x], told), k->surest[y] = fmax(k->surest[y], told);
        }
    some = 0;
    for (int x = 0; x < size; x++)
        for (int y = x + 1; y < size; y++) {
            const double told = k->open[PAIR(k, x, y)] ? k->lowest[PAIR(k, x, y)] : 0;
            if (told > 0 && told >= k->surest[x] && told >= k->surest[y]) join(k, x, y), some = 1;
        }
    return some;
}

/* Order by order, from the edges that are there; then once more, if some come back. */
static void find_skeleton(Skeleton *k) {
    const Search *s = k->asker.s;
    const size_t bytes = (size_t)s->size * s->size * sizeof(double);
    int again = 0;
    for (int x = 0; x < s->size; x++)
        for (int y = 0; y < s->size; y++)
            if (k->joined[PAIR(k, x, y)]) put(OF(k, neighbours, x), y);
    prune(k);
    memcpy(k->before, k->lowest, bytes);
    while (k->mend && !s->failed && restore(k)) again = 1;
    memcpy(k->lowest, k->before, bytes);
    if (again && !s->failed) prune(k);
}

/* --- memory ----------------------------------------------------------------------------------- */

static int reserve(Skeleton *k, Search *s) {
    const size_t size = (size_t)s->size, square = size * size, set = s->words * sizeof(Word);
    int there = reserve_asker(&k->asker, s);
    free(k->asker.given);
    there &= !!(k->asker.given = calloc(2, set)) & !!(k->near = calloc(size, set));
    there &= !!(k->neighbours = calloc(size, set)) & !!(k->members = calloc(size, sizeof(int)));
    there &= !!(k->group = calloc(size, sizeof(int))) & !!(k->above = calloc(size, sizeof(int)));
    there &= !!(k->depth = calloc(size, sizeof(int))) & !!(k->block = calloc(square, sizeof(int)));
    there &= !!(k->open = calloc(square, 1)) & !!(k->surest = calloc(size, sizeof(double)));
    return there & !!(k->before = calloc(square, sizeof(double)));
}

static void release(Skeleton *k) {
    release_asker(&k->asker);
    free(k->near), free(k->neighbours), free(k->members), free(k->group), free(k->above);
    free(k->depth), free(k->block), free(k->before), free(k->found), free(k->open);
    free(k->surest);
}
