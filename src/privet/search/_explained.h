/* Which edges answers explain: ``skeleton.py``, which says what is done and why. */

#include "_colliders.h"

enum { WIDEST = 8, DEAR = 3 };
static const double SURE = 2.995732273553991; /* log 20 */
static const double SURENESS = 0.25;

/* An answer that speaks against the edge x - y, and how weak this is beside the paths through what
   was given, the weaker the surer the answer is. */
typedef struct { double weakness, margin; int x, y, given[WIDEST]; } Found;

typedef struct {
    Asker asker;
    Heard heard;
    int order, most, dear, mend;
    char *joined, *open;    /* the skeleton; pairs whose separator it denies */
    const double *strength;
    Word *neighbours, *near; /* of each column: all, and those of which separators are formed */
    int32_t *separators;    /* [x, y]: how many members (-1: none was found), and they */
    double *lowest, *before; /* margins of this order, and of the one before */
    double *surest;         /* of the pairs of each column that nothing explains */
    Found *found;
    int64_t count, room;
    int *members, *group, *above, *depth, *block; /* block: of each edge, as ``blocks.py`` */
    int x, y;               /* the pair that is asked about */
    double left[WIDEST + 1][3]; /* of x, of y and of both, beside the first so many given */
    double least, safe;     /* squared correlations: of this pair, and that speak for an edge */
} Skeleton;

#define PAIR(k, a, b) ((size_t)(a) * (k)->asker.s->size + (b))
#define OF(k, sets, v) ((k)->sets + (size_t)(v) * (k)->asker.s->words)
#define SEPARATOR(k, a, b) ((k)->separators + PAIR(k, a, b) * ((k)->most + 1))

static int more_credible(const void *one, const void *other) {
    const Found *a = one, *b = other;
    if (a->weakness != b->weakness) return a->weakness < b->weakness ? -1 : 1;
    if (a->margin != b->margin) return a->margin < b->margin ? -1 : 1;
    if (a->x != b->x) return a->x < b->x ? -1 : 1;
    if (a->y != b->y) return a->y < b->y ? -1 : 1;
    for (int i = 0; i < WIDEST; i++)
        if (a->given[i] != b->given[i]) return a->given[i] < b->given[i] ? -1 : 1;
    return 0;
}

/* Whether the members of a separator but one column are those of a set but z; both are in order. */
static int same_but(const int32_t *separator, int but, const int *given, int count, int z) {
    int at = 1;
    for (int i = 0; i < count; i++) {
        if (given[i] == z) continue;
        if (at <= separator[0] && separator[at] == but) at++;
        if (at > separator[0] || separator[at] != given[i]) return 0;
        at++;
    }
    if (at <= separator[0] && separator[at] == but) at++;
    return at > separator[0];
}

/* Whether z was separated from one end by the other one, or by columns that in turn were. */
static int led_to(Skeleton *k, int z, int end, int other) {
    Search *s = k->asker.s;
    Word *fresh = k->asker.given, *seen = fresh + s->words;
    memset(fresh, 0, 2 * BYTES);
    put(fresh, z), put(seen, z);
    for (int v = z; v >= 0; v = next(s, fresh, 0)) {
        const int32_t *before = SEPARATOR(k, v, end);
        drop(fresh, v);
        for (int i = 1; i <= before[0]; i++) {
            if (before[i] == other) return 1;
            if (!has(seen, before[i])) put(seen, before[i]), put(fresh, before[i]);
        }
    }
    return 0;
}

static int contradicts(Skeleton *k, const Found *one, int joined) {
    for (int i = 0; i < k->order; i++)
        for (int side = 0; side < 2; side++) {
            const int z = one->given[i], end = side ? one->y : one->x;
            const int other = side ? one->x : one->y;
            const int32_t *before = SEPARATOR(k, z, end);
            if (before[0] == 1 && before[1] == other) return 1;
            if (before[0] >= 0 && joined && same_but(before, other, one->given, k->order, z))
                return 1;
        }
    for (int side = 0; side < 2; side++) {
        int all = 1; /* go round in a circle */
        for (int i = 0; all && i < k->order; i++)
            all = led_to(k, one->given[i], side ? one->y : one->x, side ? one->x : one->y);
        if (all) return 1;
    }
    return 0;
}

/* Whether all that is given can be reached from one column without another. */
static int reaches(Skeleton *k, int start, int without, const Found *one) {
    Search *s = k->asker.s;
    Word *fresh = k->asker.given, *seen = fresh + s->words;
    memcpy(fresh, OF(k, neighbours, start), BYTES);
    drop(fresh, without);
    memcpy(seen, fresh, BYTES);
    put(seen, start), put(seen, without);
    for (int at = 0; at < k->order;) {
        if (has(seen, one->given[at])) {
            at++;
            continue;
        }
        const int v = next(s, fresh, 0);
        if (v < 0) return 0;
        drop(fresh, v);
        WORDS {
            const Word more = OF(k, neighbours, v)[w] & ~seen[w];
            fresh[w] |= more, seen[w] |= more;
        }
    }
    return 1;
}

static void part(Skeleton *k, const Found *one) {
    const int x = one->x, y = one->y;
    k->joined[PAIR(k, x, y)] = k->joined[PAIR(k, y, x)] = 0;
    drop(OF(k, neighbours, x), y), drop(OF(k, neighbours, y), x);
    for (int side = 0; side < 2; side++) {
        int32_t *separator = side ? SEPARATOR(k, y, x) : SEPARATOR(k, x, y);
        separator[0] = k->order;
        for (int i = 0; i < k->order; i++) separator[i + 1] = one->given[i];
    }
}

static void explain(Skeleton *k) {
    if (k->count) qsort(k->found, (size_t)k->count, sizeof(Found), more_credible);
    for (int64_t i = 0; i < k->count; i++) {
        const Found *one = k->found + i;
        const double before = k->before[PAIR(k, one->x, one->y)];
        const int joined = before > -one->margin && one->margin > -SURE;
        if (!k->joined[PAIR(k, one->x, one->y)]) continue;
        if (k->order && contradicts(k, one, joined)) continue;
        if (reaches(k, one->x, one->y, one) && reaches(k, one->y, one->x, one)) part(k, one);
    }
}
