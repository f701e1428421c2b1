//go:build linux && cgo && rdmacore

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

/* Of siw a failure without a reason may be another queue's; see vb_siw_burn. */
enum { SIW_TRIES = 3 };

static int try_again(struct ibv_context *c, int tries)
{
	return errno == 0 && tries < SIW_TRIES && c->device->transport_type == IBV_TRANSPORT_IWARP && vb_siw_burn(c) == 0;
}

static struct ibv_cq *create_cq(struct ibv_context *c, int depth, struct ibv_comp_channel *ch, int vector)
{
	struct ibv_cq *cq;
	int tries = 0;

	do
		errno = 0;
	while (!(cq = vb.ibv_create_cq(c, depth, NULL, ch, vector)) && try_again(c, tries++));
	return cq;
}

static struct ibv_qp *create_qp(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr a;
	struct ibv_qp *qp;
	int tries = 0;

	do {
		errno = 0;
		a = *attr;
	} while (!(qp = vb.ibv_create_qp(pd, &a)) && try_again(pd->context, tries++));
	return qp;
}

int vb_create_cq(struct ibv_context *c, int depth, struct ibv_comp_channel **ch, struct vb_cq **out)
{
	static unsigned vector;
	int err;
	struct vb_cq *cq = calloc(1, sizeof *cq);

	if (!cq)
		return ENOMEM;
	errno = 0;
	if (!(*ch = vb.ibv_create_comp_channel(c))) {
		err = errno ? errno : EIO;
		free(cq);
		return err;
	}
	unsigned v = __atomic_fetch_add(&vector, 1, __ATOMIC_RELAXED) % (c->num_comp_vectors > 0 ? c->num_comp_vectors : 1);
	if (!(cq->cq = create_cq(c, depth, *ch, v))) {
		err = errno ? errno : EIO;
		vb.ibv_destroy_comp_channel(*ch);
		free(cq);
		return err;
	}
	*out = cq;
	return 0;
}

void vb_destroy_cq(struct vb_cq *cq, struct ibv_comp_channel *ch)
{
	if (cq->unacked)
		vb.ibv_ack_cq_events(cq->cq, cq->unacked);
	vb.ibv_destroy_cq(cq->cq);
	ch->fd = -1; /* the caller has closed it */
	vb.ibv_destroy_comp_channel(ch);
	free(cq->table);
	free(cq);
}

int vb_attach(struct vb_cq *cq, struct vb_qp *qp, uint32_t *index)
{
	for (uint32_t i = 0; i < cq->size; i++)
		if (!cq->table[i]) {
			cq->table[i] = qp;
			*index = i;
			return 0;
		}
	uint32_t size = cq->size ? 2 * cq->size : 2;
	struct vb_qp **t = realloc(cq->table, size * sizeof *t);
	if (!t)
		return ENOMEM;
	memset(t + cq->size, 0, (size - cq->size) * sizeof *t);
	cq->table = t;
	*index = cq->size;
	t[cq->size] = qp;
	cq->size = size;
	return 0;
}

void vb_detach(struct vb_cq *cq, uint32_t index) { cq->table[index] = NULL; }

int vb_take_event(struct vb_cq *cq, struct ibv_comp_channel *ch)
{
	struct ibv_cq *of;
	void *context;

	errno = 0;
	if (vb.ibv_get_cq_event(ch, &of, &context))
		return errno ? errno : EIO;
	if (++cq->unacked >= 1024) { /* it takes a lock, and signals */
		vb.ibv_ack_cq_events(cq->cq, cq->unacked);
		cq->unacked = 0;
	}
	return 0;
}

static int ring_init(struct vb_ring *r, uint64_t limit)
{
	uint64_t n = 1;

	while (n < limit + 1) /* and the sentinel */
		n *= 2;
	r->mask = n - 1;
	r->limit = limit;
	return (r->slots = calloc(n, sizeof *r->slots)) ? 0 : ENOMEM;
}

void vb_free_qp(struct vb_qp *q)
{
	free(q->sq.slots);
	free(q->rq.slots);
	free(q->swr);
	free(q->ssge);
	free(q->rwr);
	free(q->rsge);
	free(q);
}

static int qp_init(struct vb_qp *q, const struct vb_qp_config *c)
{
	q->max_send_sge = c->send_sge;
	q->max_recv_sge = c->recv_sge;
	if (ring_init(&q->sq, c->send_depth) || ring_init(&q->rq, c->recv_depth))
		return ENOMEM;
	q->swr = calloc(c->send_depth, sizeof *q->swr);
	q->ssge = calloc((size_t)c->send_depth * c->send_sge, sizeof *q->ssge);
	q->rwr = calloc(c->recv_depth, sizeof *q->rwr);
	q->rsge = calloc((size_t)c->recv_depth * c->recv_sge, sizeof *q->rsge);
	if (!q->swr || !q->ssge || !q->rwr || !q->rsge)
		return ENOMEM;
	for (uint32_t i = 0; i < c->send_depth; i++) {
		q->swr[i].sg_list = q->ssge + (size_t)i * c->send_sge;
		q->swr[i].next = i + 1 < c->send_depth ? &q->swr[i + 1] : NULL;
	}
	for (uint32_t i = 0; i < c->recv_depth; i++) {
		q->rwr[i].sg_list = q->rsge + (size_t)i * c->recv_sge;
		q->rwr[i].next = i + 1 < c->recv_depth ? &q->rwr[i + 1] : NULL;
	}
	return 0;
}

int vb_create_qp(struct ibv_pd *pd, struct vb_cq *scq, struct vb_cq *rcq, const struct vb_qp_config *c, struct vb_qp **out)
{
	struct ibv_qp_init_attr a = {
		.qp_context = (void *)(uintptr_t)c->handle,
		.send_cq = scq->cq, .recv_cq = rcq->cq, .qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = c->send_depth + 1, .max_recv_wr = c->recv_depth,
			.max_send_sge = c->send_sge, .max_recv_sge = c->recv_sge, .max_inline_data = c->max_inline},
	};
	struct vb_qp *q = calloc(1, sizeof *q);
	int err;

	if (!q)
		return ENOMEM;
	if ((err = qp_init(q, c)))
		goto fail;
	if (!(q->qp = create_qp(pd, &a))) {
		err = errno ? errno : EIO;
		goto fail;
	}
	q->num = q->qp->qp_num;
	q->reorder = pd->context->device->transport_type == IBV_TRANSPORT_IWARP;
	if ((err = vb_attach(scq, q, &q->send_index)))
		goto fail_qp;
	if ((err = vb_attach(rcq, q, &q->recv_index))) {
		vb_detach(scq, q->send_index);
		goto fail_qp;
	}
	*out = q;
	return 0;
fail_qp:
	vb.ibv_destroy_qp(q->qp);
fail:
	vb_free_qp(q);
	return err;
}

/* Codes of enum ib_mtu and timers of the InfiniBand specification, volume 1, 9.7.5.2.8 and 9.7.6.1.3. */
enum {
	RNR_TIMER = 12,   /* 0.64 ms; the connection manager's 0 is 655 ms */
	ACK_TIMEOUT = 16, /* 4.096 us * 2^16 = 0.27 s at most, and 7 retries */
};

int vb_modify(struct vb_qp *q, struct rdma_cm_id *id, int state, int ird, int ord)
{
	struct ibv_qp_attr a;
	int mask, r;

	memset(&a, 0, sizeof a);
	a.qp_state = state;
	errno = 0;
	if (vb.rdma_init_qp_attr(id, &a, &mask))
		return errno ? errno : EIO;
	/* Kernels tell of attributes of RoCE's addresses in bits that are others' by now. */
	mask &= ~0x1e00000;
	if (state == IBV_QPS_RTR && mask & IBV_QP_MAX_DEST_RD_ATOMIC) {
		a.max_dest_rd_atomic = ird;
		a.min_rnr_timer = RNR_TIMER;
	}
	if (state == IBV_QPS_RTS && mask & IBV_QP_MAX_QP_RD_ATOMIC) {
		a.max_rd_atomic = ord;
		if (a.timeout > ACK_TIMEOUT || !a.timeout)
			a.timeout = ACK_TIMEOUT;
	}
	r = vb.ibv_modify_qp(q->qp, &a, mask);
	return r < 0 ? -r : r;
}

int vb_fail_qp(struct vb_qp *q)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_ERR};

	return vb.ibv_modify_qp(q->qp, &a, IBV_QP_STATE);
}

int vb_destroy_qp(struct vb_qp *q)
{
	int r = vb.ibv_destroy_qp(q->qp);

	q->qp = NULL;
	return r;
}

uint64_t vb_outstanding(struct vb_qp *q, int recv)
{
	struct vb_ring *r = recv ? &q->rq : &q->sq;

	return __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE) - __atomic_load_n(&r->head, __ATOMIC_ACQUIRE);
}

void *vb_keep(const struct ibv_sge *sgl, uint32_t n, uint32_t *len)
{
	char *b;

	*len = 0;
	for (uint32_t i = 0; i < n; i++)
		*len += sgl[i].length;
	if (!(b = malloc(*len + 1)))
		abort();
	*len = 0;
	for (uint32_t i = 0; i < n; i++) {
		memcpy(b + *len, (void *)(uintptr_t)sgl[i].addr, sgl[i].length);
		*len += sgl[i].length;
	}
	return b;
}
