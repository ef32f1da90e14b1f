/* Bayes factors of pooled and of full tests, question by question, whatever their shapes.

   The same as ``chi2.py`` has it in arrays, which says what is worked out and why, and serves where
   this file was not compiled. ``compiled.py`` calls it. Replicas are worked on in lanes. */

#include "_questions.h"

/* Shares of the levels of one end in each stratum (``strata.py``). */
static void share(const Question *q, End *e, const double *own) {
    const double *noise = q->noise[0];
    const whole n = q->n, k = e->k, most = q->all->most;
    lanes *floors = q->scratch, *overall = floors + n * k, all = {0};
    for (whole i = 0; i < k; i++) {
        double first = e->design[i * most], rest = e->inner[i * most + i];
        lanes least = {0}, sum = {0};
        for (whole z = 0; z < n; z++) {
            whole at = i * n + z, twice = z * (n + 1);
            double blur = sqrt(noise[twice] * first * first + own[twice] * rest);
            EACH AT(floors[at]) = least_of(blur, 0.5 + 1e-4 * fabs(AT(q->total[z])));
            EACH AT(least) = most_of(AT(least), AT(floors[at]));
            sum += e->table[at];
        }
        EACH AT(overall[i]) = most_of(AT(sum), AT(least) + 1e-9);
        all += overall[i];
    }
    for (whole z = 0; z < n; z++) {
        double pull = NOISE_DEVIATIONS * sqrt(noise[z * (n + 1)]) + FEWEST_ROWS;
        lanes sum = {0};
        for (whole i = 0, at = z; i < k; i++, at += n) {
            lanes drawn = pull * (overall[i] / all);
            EACH AT(e->shares[at]) = AT(q->sure[z]) > 0 ? most_of(AT(e->table[at]), AT(floors[at]))
                                                        : most_of(AT(e->table[at]), 0) + AT(drawn);
            sum += e->shares[at];
        }
        for (whole i = 0, at = z; i < k; i++, at += n) {
            e->shares[at] /= sum;
            e->free[at] = e->design[i * most] - e->shares[at];
        }
    }
}

static lanes dot(const lanes *a, const lanes *b, whole count) {
    lanes even = {0}, odd = {0}; /* apart, so that one need not wait for the other */
    whole i = 0;
    for (; i + 1 < count; i += 2) even += a[i] * b[i], odd += a[i + 1] * b[i + 1];
    if (i < count) even += a[i] * b[i];
    return even + odd;
}

/* d' C^-1 d + log|C| - log|base|, of each C = base + square * grown, in blocks between which there
   is nothing, from Cholesky factors bordered by d; all at once, so that none waits for another.
   Pivots are held against those of the base: their ratio is between 1 and the number of rows, so
   that a product of a few stays finite. */
static void lengths(const Question *q, lanes *out) {
    const whole m = q->size;
    lanes zero = {0}, ratio[EFFECTS], scale[EFFECTS];
    for (int t = 0; t < EFFECTS; t++) out[t] = zero, ratio[t] = zero + 1.0;
    for (whole j = 0; j < m; j++) {
        const lanes *own = q->root + j * m * EFFECTS;
        const whole start = j - j % q->block, end = start + q->block;
        for (whole i = j; i <= m; i = i == end - 1 ? m : i + 1) {
            lanes *row = q->root + i * m * EFFECTS, sum[EFFECTS], grown = zero, base = q->d[j];
            if (i < m) base = q->base[i * m + j], grown = q->grown[i * m + j];
            for (int t = 0; t < EFFECTS; t++) sum[t] = base + SQUARES[t] * grown;
            for (whole c = start * EFFECTS; c < j * EFFECTS; c += EFFECTS)
                for (int t = 0; t < EFFECTS; t++) sum[t] -= row[c + t] * own[c + t];
            for (int t = 0; i == j && t < EFFECTS; t++) {
                EACH AT(scale[t]) = 1.0 / sqrt(AT(sum[t]));
                ratio[t] *= sum[t] / sum[0]; /* equal ones say nothing, exactly */
            }
            for (int t = 0; t < EFFECTS; t++) {
                row[j * EFFECTS + t] = sum[t] *= scale[t];
                if (i == m) out[t] += sum[t] * sum[t];
            }
        }
        for (int t = 1; (j % 8 == 7 || j == m - 1) && t < EFFECTS; t++) {
            EACH AT(out[t]) += log(AT(ratio[t]));
            ratio[t] = zero + 1.0;
        }
    }
}

/* A hair's breadth more on the diagonal, so that empty levels can be inverted. */
static void ridge(lanes *matrix, whole m) {
    lanes trace = {0};
    for (whole i = 0; i < m; i++) trace += matrix[i * (m + 1)];
    trace = 1e-9 * (trace / (double)m) + 1e-9;
    for (whole i = 0; i < m; i++) matrix[i * (m + 1)] += trace;
}

/* Sampling and a hair of the noise in place of the covariance, and this in place of sampling. */
static void exchange(const Question *q) {
    const whole m = q->size;
    for (whole i = 0; i < m; i++)
        for (whole at = i * m; at <= i * m + i; at++) {
            lanes sampling = q->grown[at], both = q->base[at];
            q->base[at] = sampling + 1e-9 * (both - sampling), q->grown[at] = both;
        }
    ridge(q->grown, m);
}

/* d' A^-1 d, and the trace of A^-1 B from the inverse of A's root: A the covariance, and B that of
   sampling alone, or the other way round. */
static void gauge(const Question *q, lanes *length, lanes *trace) {
    const whole m = q->size;
    lanes zero = {0}, *root = q->root, *d = root + m * m, *inverse = d + m;
    if (q->gauged == SIZES) exchange(q);
    ridge(q->base, m);
    *length = *trace = zero;
    for (whole j = 0; j < m; j++) {
        lanes scale = zero;
        for (whole i = j; i <= m; i++) {
            lanes sum = (i < m ? q->base[i * m + j] : q->d[j]);
            sum -= dot(root + i * m, root + j * m, j);
            if (i == j) EACH AT(scale) = 1.0 / sqrt(AT(sum));
            root[i * m + j] = sum * scale;
        }
        *length += d[j] * d[j];
    }
    for (whole c = 0; c < m; c++) { /* a column in each line */
        lanes *line = inverse + c * m;
        for (whole i = c; i < m; i++)
            line[i] = (zero + (i == c) - dot(root + i * m + c, line + c, i - c)) / root[i * m + i];
    }
    for (whole i = 0; i < m; i++)
        for (whole j = 0; j <= i; j++)
            *trace += (i == j ? 1.0 : 2.0) * q->grown[i * m + j]
                    * dot(inverse + i * m + i, inverse + j * m + i, m - i);
}

/* The log Bayes factor (``terms.py``). */
static void weigh(const Question *q, lanes *out) {
    const whole m = q->size, a = q->k[0] - 1, b = q->k[1] - 1;
    const double apart_x = 1.0 / (double)(a + 1), apart_y = 1.0 / (double)(b + 1);
    lanes sum = {0}, terms[EFFECTS];
    ridge(q->base, m);
    for (whole i = 0; i < m; i++) {
        for (whole j = q->z[i] * a * b; j <= i; j++)
            q->base[i * m + j] += GRAIN * ((q->x[i] == q->x[j]) - apart_x)
                                * ((q->y[i] == q->y[j]) - apart_y);
    }
    lengths(q, terms);
    EACH {
        double least = AT(terms[1]);
        for (int t = 2; t < EFFECTS; t++) least = least_of(least, AT(terms[t]));
        for (int t = 1; t < EFFECTS; t++) AT(sum) += exp(0.5 * (least - AT(terms[t])));
        AT(*out) = 0.5 * (AT(terms[0]) - least) + log(AT(sum)) - log(EFFECTS - 1);
    }
}

/* How many levels are seen in some strata, less one. */
static lanes seen(const Question *q, const End *e, whole from, whole to) {
    lanes zero = {0}, out = zero - 1.0;
    for (whole i = 0; i < e->k; i++)
        EACH {
            int any = 0;
            for (whole z = from; z < to; z++) any |= AT(e->shares[i * q->n + z]) > 1e-9;
            AT(out) += any;
        }
    return out;
}

/* diag p - pp' of each two levels in each stratum; of x, weighed by the rows. */
static lanes *multinomial(const Question *q, const End *e, lanes *out) {
    const whole n = q->n, a = e->k - 1;
    for (whole i = 0; i < a; i++)
        for (whole j = 0; j < a; j++)
            for (whole z = 0; z < n; z++) {
                lanes own = e->shares[i * n + z] * ((i == j) - e->shares[j * n + z]);
                if (e == q->ends) own *= q->weight[z];
                *out++ = own;
            }
    return out;
}

/* Vectors of strata, each multiplied by a covariance. */
static void cover(const double *noise, const lanes *vectors, whole count, whole n, lanes *out) {
    for (whole i = 0; i < count; i++, vectors += n) {
        whole z = 0;
        for (; z + 3 < n; z += 4) { /* four sums stay in registers */
            lanes zero = {0}, s = zero, t = zero, u = zero, v = zero;
            for (whole j = 0; j < n; j++) {
                const double *own = noise + j * n + z;
                s += own[0] * vectors[j], t += own[1] * vectors[j];
                u += own[2] * vectors[j], v += own[3] * vectors[j];
            }
            *out++ = s, *out++ = t, *out++ = u, *out++ = v;
        }
        for (; z < n; z++) {
            lanes sum = {0};
            for (whole j = 0; j < n; j++) sum += noise[j * n + z] * vectors[j];
            *out++ = sum;
        }
    }
}

/* What a covariance of strata is in these directions. */
static void cross(const double *noise, const lanes *v, whole count, whole n, lanes *h, lanes *out) {
    cover(noise, v, count, n, h);
    for (whole i = 0; i < count; i++)
        for (whole j = 0; j < count; j++) *out++ = dot(v + i * n, h + j * n, n);
}

/* Takes off what weights feign between two columns, given nothing, and adds the doubt about that. */
static void unfeign(Question *q) {
    const whole m = q->size;
    const double curvature = q->all->curvature, doubt = q->all->doubt * q->all->doubt;
    for (int end = 0; end < 2; end++) {
        End *e = &q->ends[end];
        const double *bends = q->all->bends + q->columns[end] * q->all->most;
        lanes mean = {0};
        for (whole i = 0; i < e->k; i++) mean += e->shares[i] * bends[i];
        for (whole i = 0; i < e->k; i++) e->bent[i] = e->shares[i] * (bends[i] - mean);
    }
    for (whole i = 0; i < m; i++) {
        q->feint[i] = q->weight[0] * q->ends[0].bent[q->x[i]] * q->ends[1].bent[q->y[i]];
        q->d[i] -= curvature * q->feint[i];
        for (whole j = 0; j <= i; j++) q->base[i * m + j] += doubt * q->feint[i] * q->feint[j];
    }
}

static lanes product(const Question *q, whole x, whole y, whole z) {
    const End *e = q->ends;
    lanes p = e[0].table[x + z], r = e[1].table[y + z], s = e[0].shares[x + z], exact = p * r;
    lanes linear = s * r + (p - q->total[z] * s) * e[1].shares[y + z];
    EACH AT(exact) = AT(q->sure[z]) > 0 ? AT(exact) / AT(q->total[z]) : AT(linear);
    return exact;
}

/* Adds the noise of departures summed over strata to their covariance. */
static void blur(const Question *q, lanes *free) {
    const End *x = &q->ends[0], *y = &q->ends[1];
    const whole n = q->n, a = x->k - 1, b = y->k - 1, m = a * b, most = q->all->most;
    lanes *h = free + m * n, *across_x = h + m * n, *across_y = across_x + a * a;
    cross(q->noise[1], y->free, b, n, h, across_y);
    cross(q->noise[2], x->free, a, n, h, across_x);
    for (whole i = 0; i < m; i++)
        for (whole z = 0; z < n; z++)
            free[i * n + z] = x->free[q->x[i] * n + z] * y->free[q->y[i] * n + z];
    cover(q->noise[0], free, m, n, h);
    for (whole i = 0; i < m; i++)
        for (whole j = 0; j <= i; j++) {
            whole i1 = q->x[i], j1 = q->x[j], i2 = q->y[i], j2 = q->y[j];
            double within_x = x->inner[i1 * most + j1], within_y = y->inner[i2 * most + j2];
            q->base[i * m + j] += dot(free + i * n, h + j * n, n)
                + within_x * (q->variance[3] * within_y + across_y[i2 * b + j2])
                + across_x[i1 * a + j1] * within_y;
        }
}

/* Departures summed over strata, and their covariance; that of sampling alone, weighed by the rows,
   is what an effect adds. */
static lanes pool(const Question *q, lanes rows) {
    const End *x = &q->ends[0], *y = &q->ends[1];
    const whole n = q->n, a = x->k - 1, b = y->k - 1, m = a * b;
    lanes *p = q->scratch, *r = multinomial(q, x, p), *free = multinomial(q, y, r);
    for (whole i = 0; i < m; i++) {
        q->d[i] = q->table[q->x[i] * y->k + q->y[i]];
        for (whole z = 0; z < n; z++) q->d[i] -= product(q, q->x[i] * n, q->y[i] * n, z);
        for (whole j = 0; j <= i; j++) {
            const lanes *own = p + (q->x[i] * a + q->x[j]) * n;
            q->base[i * m + j] = dot(own, r + (q->y[i] * b + q->y[j]) * n, n);
            q->grown[i * m + j] = rows * q->base[i * m + j];
        }
    }
    if (!q->calm) blur(q, free);
    return seen(q, x, 0, n) * seen(q, y, 0, n);
}

/* The departures of all strata, and their covariance; strata that say little are left out. */
static lanes stack(const Question *q) {
    const End *x = &q->ends[0], *y = &q->ends[1];
    const whole n = q->n, a = x->k - 1, b = y->k - 1, m = q->size, most = q->all->most;
    lanes *p = q->scratch, *r = multinomial(q, x, p), freedom = {0};
    multinomial(q, y, r);
    if (!q->calm) memset(q->grown, 0, (size_t)(m * m) * sizeof(lanes));
    for (whole z = 0; z < n; z++)
        freedom += q->sure[z] * seen(q, x, z, z + 1) * seen(q, y, z, z + 1);
    for (whole i = 0; i < m; i++) {
        whole z = q->z[i], i1 = q->x[i], i2 = q->y[i];
        lanes apart = q->table[(i1 * y->k + i2) * n + z] - product(q, i1 * n, i2 * n, z);
        q->d[i] = q->sure[z] * apart;
        for (whole j = i - i % q->block; j <= i; j++) {
            whole o = q->z[j], j1 = q->x[j], j2 = q->y[j], at = z * n + o;
            double within_x = x->inner[i1 * most + j1], within_y = y->inner[i2 * most + j2];
            lanes free_x = x->free[i1 * n + z] * x->free[j1 * n + o];
            lanes free_y = y->free[i2 * n + z] * y->free[j2 * n + o];
            lanes noise = within_x * (q->noise[3][at] * within_y + q->noise[1][at] * free_y)
                        + free_x * (q->noise[2][at] * within_y + q->noise[0][at] * free_y);
            if (z == o) {
                lanes sampling = p[(i1 * a + j1) * n + z] * r[(i2 * b + j2) * n + z];
                noise += sampling;
                q->grown[i * m + j] = sampling * q->sure[z] * q->weight[z];
            }
            q->base[i * m + j] = q->sure[z] * q->sure[o] * noise;
        }
        q->base[i * (m + 1)] += 1.0 - q->sure[z]; /* no departure, unit variance */
    }
    return freedom;
}

static void *room(char *start, whole *used, whole bytes) {
    *used += bytes;
    return start ? start + *used - bytes : NULL;
}

/* Sets a question up in the room that starts there; the bytes that it needs. */
static whole place(Question *q, char *start) {
    whole used = 0, n = 1, most = q->all->most;
    for (int axis = 2; axis < q->width; axis++) n *= q->k[axis];
    const whole a = q->k[0], b = q->k[1], times = q->strata ? n : 1, m = times * (a - 1) * (b - 1);
    q->n = n, q->size = m, q->block = q->calm ? (a - 1) * (b - 1) : m;
    for (int end = 0; end < 2; end++) {
        End *e = &q->ends[end];
        whole cells = n * (e->k = q->k[end]);
        e->design = q->all->designs + q->columns[end] * most * most;
        e->inner = q->all->inner + q->columns[end] * most * most;
        e->cells = NEW(cells, Cell), e->table = NEW(cells, lanes);
        e->shares = NEW(cells, lanes), e->free = NEW(cells, lanes);
        e->bent = NEW(e->k, lanes);
    }
    q->cells = NEW(times * a * b, Cell), q->table = NEW(times * a * b, lanes);
    for (int ends = 0; ends < 4; ends++) q->noise[ends] = NEW(n * n, double);
    q->total = NEW(n, lanes), q->weight = NEW(n, lanes), q->sure = NEW(n, lanes);
    q->feint = NEW(m, lanes), q->d = NEW(m, lanes), q->base = NEW(m * m, lanes), q->grown = NEW(m * m, lanes);
    q->root = NEW((m + 1) * m * EFFECTS, lanes);
    q->x = NEW(m, whole), q->y = NEW(m, whole), q->z = NEW(m, whole);
    q->scratch = NEW((n + 1) * (a + b) * (a + b) + most, lanes);
    return used;
}

/* All that replicas share. */
static void prepare(Question *q) {
    const int axes[2][AXES] = {{0, 2, 3}, {1, 2, 3}}, all[AXES] = {0, 1, 2, 3};
    for (whole i = 0, a = q->k[0] - 1, b = q->k[1] - 1; i < q->size; i++)
        q->z[i] = i / (a * b), q->x[i] = i / b % a, q->y[i] = i % b;
    for (int end = 0; end < 2; end++) locate(q, axes[end], q->width - 1, q->ends[end].cells);
    locate(q, all, q->strata ? q->width : 2, q->cells);
    for (int ends = 0; ends < 3 + q->strata; ends++)
        if (q->calm) memset(q->noise[ends], 0, (size_t)(q->n * q->n) * sizeof(double));
        else spread(q, ends, q->noise[ends]);
}

/* Of some replicas: degrees of freedom, and their log Bayes factor; or statistic and trace. */
static lanes answer(Question *q, whole replica, lanes *factor, lanes *trace) {
    const whole n = q->n, a = q->k[0], b = q->k[1], times = q->strata ? n : 1;
    lanes rows, freedom;
    for (int end = 0; end < 2; end++) {
        End *e = &q->ends[end];
        gather(q, e->cells, n * e->k, replica, e->table);
        turn_strata(q, e->k, e->table);
        memcpy(q->total, e->table, (size_t)n * sizeof(lanes)); /* this end is summed out */
        turn(q, end, 1, n, e->table);
    }
    for (whole z = 0; z < n; z++) {
        double noise = sqrt(q->noise[0][z * (n + 1)]);
        double least = most_of(FEWEST_ROWS - HAIR, NOISE_DEVIATIONS * noise);
        EACH AT(q->sure[z]) = AT(q->total[z]) >= least;
        EACH AT(q->weight[z]) = most_of(AT(q->total[z]), 0);
    }
    gather(q, q->cells, times * a * b, replica, q->table);
    EACH AT(rows) = q->gauged ? 1.0 : most_of(AT(q->table[0]), 1.0); /* all are summed out */
    if (q->strata) turn_strata(q, a * b, q->table);
    turn(q, 0, 1, b * times, q->table), turn(q, 1, a, times, q->table);
    share(q, &q->ends[0], q->noise[1]), share(q, &q->ends[1], q->noise[2]);
    freedom = q->strata ? stack(q) : pool(q, rows);
    if (q->all->bends && q->width == 2) unfeign(q);
    if (q->gauged) gauge(q, factor, trace);
    else weigh(q, factor);
    return freedom;
}

/* Answers to all questions: degrees of freedom, then factors (or statistics, and then traces), each
   replica by replica. */
static int answers(Question *q, whole count, double *out) {
    const whole sets = 1 << q->width, copies = q->all->replicas;
    whole most = 0;
    char *memory = NULL;
    for (whole i = 0; i < count; i++) {
        find(q);
        q->calm = 1;
        for (whole set = 0; set < sets; set++) q->calm &= q->variance[set] == 0;
        whole needed = place(q, NULL);
        if (needed > most) {
            free(memory), most = needed;
            if (!(memory = malloc((size_t)most))) return -1;
        }
        place(q, memory), prepare(q);
        for (whole replica = 0; replica < copies; replica += LANES) {
            lanes factor, trace = {0}, freedom = answer(q, replica, &factor, &trace);
            for (int l = 0; l < LANES && replica + l < copies; l++) {
                out[(replica + l) * count + i] = AT(freedom);
                out[(copies + replica + l) * count + i] = AT(factor);
                if (q->gauged) out[(2 * copies + replica + l) * count + i] = AT(trace);
            }
        }
        q->columns += q->width;
    }
    free(memory);
    return 0;
}

/* Whether arrays are as large as they say of each other, and all that is asked for is a column. */
static int fit(const Question *q, const Py_buffer *views) {
    const Evidence *e = q->all;
    const whole count = views[1].len / 8, square = e->most * e->most;
    int fits = views[3].shape[2] == e->most && views[3].len == 8 * e->columns * square;
    fits &= views[4].len == views[3].len && views[2].len == 8 * e->columns;
    fits &= count % q->width == 0;
    fits &= !e->bends || views[6].len == 8 * e->columns * e->most;
    fits &= views[0].len == 8 * (2 + (q->gauged > 0)) * e->replicas * (count / q->width);
    for (whole i = 0; fits && i < e->columns; i++)
        fits &= e->levels[i] > 0 && e->levels[i] <= e->most;
    for (whole i = 0; fits && i < count; i++)
        fits &= q->columns[i] >= 0 && q->columns[i] < e->columns;
    for (int order = 1; fits && order <= AXES; order++) {
        const Py_buffer *own = views + HEAD + (order - 1) * EACH_LAYER;
        const Layer *layer = &e->layers[order];
        if (!layer->count) continue;
        fits &= own[3].len == own[0].len && own[1].len == own[0].len + 8;
        fits = fits && own[2].len == 8 * e->replicas * layer->flat
            && layer->offsets[layer->count] == layer->flat;
    }
    return fits;
}

static PyObject *factors(PyObject *self, PyObject *args) {
    enum { ALL = HEAD + AXES * EACH_LAYER };
    PyObject *arrays;
    Py_buffer views[ALL], *view = views + HEAD;
    Evidence e = {0};
    Question q = {.all = &e};
    int held = 0, failed = 0;
    if (!PyArg_ParseTuple(args, "O!dddipi", &PyTuple_Type, &arrays, &q.variance[0], &e.curvature,
                          &e.doubt, &q.width, &q.strata, &q.gauged))
        return NULL;
    if (PyTuple_Size(arrays) != ALL || q.width < 2 || q.width > AXES)
        return PyErr_Format(PyExc_ValueError, "wrong number of arrays or of columns");
    for (; !failed && held < ALL; held += !failed)
        failed = PyObject_GetBuffer(PyTuple_GetItem(arrays, held), &views[held],
                                    PyBUF_C_CONTIGUOUS | (held ? 0 : PyBUF_WRITABLE));
    if (!failed && views[3].ndim != 3) {
        PyErr_Format(PyExc_ValueError, "designs are not squares");
        failed = 1;
    }
    if (!failed && views[5].len) {
        q.columns = views[1].buf, e.levels = views[2].buf, e.designs = views[3].buf;
        e.inner = views[4].buf, e.columns = views[3].shape[0], e.most = views[3].shape[1];
        e.bends = views[6].len ? views[6].buf : NULL;
        e.replicas = views[5].len / 8, e.layers[0].values = views[5].buf, e.layers[0].flat = 1;
        for (int order = 1; order <= AXES; order++, view += EACH_LAYER)
            e.layers[order] = (Layer){
                .keys = view[0].buf, .offsets = view[1].buf, .values = view[2].buf,
                .variances = view[3].buf, .count = view[0].len / 8,
                .flat = view[2].len / 8 / e.replicas};
        if ((failed = !fit(&q, views))) {
            PyErr_Format(PyExc_ValueError, "arrays do not fit each other");
        } else {
            Py_BEGIN_ALLOW_THREADS
            failed = answers(&q, views[1].len / 8 / q.width, views[0].buf);
            Py_END_ALLOW_THREADS
            if (failed) PyErr_NoMemory();
        }
    }
    while (held) PyBuffer_Release(&views[--held]);
    return failed ? NULL : Py_BuildValue("");
}

static PyMethodDef functions[] = {{"factors", factors, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_tests", NULL, -1, functions};
PyMODINIT_FUNC PyInit__tests(void) { return PyModule_Create(&module); }
