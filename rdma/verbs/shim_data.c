//go:build linux && cgo && rdmacore

#include <arpa/inet.h>
#include <errno.h>

#include "shim.h"

/* wr_id: receive (1 bit) | index in the completion queue's table (31) | position in the ring (32). */
#define WR_RECV (1ull << 63)
#define WR_ID(index, pos) ((uint64_t)(index) << 32 | (uint32_t)(pos))

static int room(struct vb_ring *r, uint64_t n, uint64_t extra)
{
	return r->tail + n - __atomic_load_n(&r->head, __ATOMIC_ACQUIRE) <= r->limit + extra;
}

int vb_post_send(struct vb_qp *q, uint32_t n)
{
	struct vb_ring *r = &q->sq;
	struct ibv_send_wr *bad = NULL, *last = &q->swr[n - 1];
	uint64_t tail = r->tail, trailing = q->trailing;

	if (!room(r, n, 0))
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		struct ibv_send_wr *w = &q->swr[i];
		struct vb_slot *s = &r->slots[(tail + i) & r->mask];
		s->id = w->wr_id;
		s->op = w->opcode;
		s->done = 0;
		s->signaled = (w->send_flags & IBV_SEND_SIGNALED) != 0;
		if (w->opcode == IBV_WR_RDMA_READ) {
			s->len = 0;
			for (int k = 0; k < w->num_sge; k++)
				s->len += w->sg_list[k].length;
			if (q->reorder) /* nothing else tells when it is complete */
				w->send_flags |= IBV_SEND_SIGNALED;
		}
		trailing = w->send_flags & IBV_SEND_SIGNALED ? 0 : trailing + 1;
		w->wr_id = WR_ID(q->send_index, tail + i);
	}
	struct ibv_send_wr *next = last->next;
	last->next = NULL;
	__atomic_store_n(&r->tail, tail + n, __ATOMIC_RELEASE);
	int err = ibv_post_send(q->qp, q->swr, &bad);
	last->next = next;
	if (err && (!bad || bad == q->swr)) {
		__atomic_store_n(&r->tail, tail, __ATOMIC_RELEASE);
		return err < 0 ? -err : err;
	}
	q->trailing = trailing;
	return err ? -2 : 0;
}

int vb_post_recv(struct vb_qp *q, uint32_t n)
{
	struct vb_ring *r = &q->rq;
	struct ibv_recv_wr *bad = NULL, *last = &q->rwr[n - 1];
	uint64_t tail = r->tail;

	if (!room(r, n, 0))
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		struct vb_slot *s = &r->slots[(tail + i) & r->mask];
		s->id = q->rwr[i].wr_id;
		s->done = 0;
		q->rwr[i].wr_id = WR_RECV | WR_ID(q->recv_index, tail + i);
	}
	struct ibv_recv_wr *next = last->next;
	last->next = NULL;
	__atomic_store_n(&r->tail, tail + n, __ATOMIC_RELEASE);
	int err = ibv_post_recv(q->qp, q->rwr, &bad);
	last->next = next;
	if (err && (!bad || bad == q->rwr)) {
		__atomic_store_n(&r->tail, tail, __ATOMIC_RELEASE);
		return err < 0 ? -err : err;
	}
	return err ? -2 : 0;
}

/* The sentinel is a WRITE of nothing, to nowhere, whose completion tells that those before it are complete. */
int vb_post_sentinel(struct vb_qp *q)
{
	struct vb_ring *r = &q->sq;
	struct ibv_send_wr *bad, w = {
		.wr_id = WR_ID(q->send_index, r->tail), .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
	};

	if (!room(r, 1, 1))
		return -1;
	r->slots[r->tail & r->mask] = (struct vb_slot){.op = VB_SENTINEL};
	__atomic_store_n(&r->tail, r->tail + 1, __ATOMIC_RELEASE);
	int err = ibv_post_send(q->qp, &w, &bad);
	if (err)
		__atomic_store_n(&r->tail, r->tail - 1, __ATOMIC_RELEASE);
	else
		q->trailing = 0;
	return err < 0 ? -err : err;
}

/* Numbers of rdma.Status and rdma.Opcode; a test compares them. */
static uint8_t status(enum ibv_wc_status s)
{
	switch (s) {
	case IBV_WC_SUCCESS: return 0;
	case IBV_WC_LOC_LEN_ERR: return 1;
	case IBV_WC_LOC_QP_OP_ERR: return 2;
	case IBV_WC_LOC_PROT_ERR: return 3;
	case IBV_WC_WR_FLUSH_ERR: return 4;
	case IBV_WC_REM_INV_REQ_ERR: return 5;
	case IBV_WC_REM_ACCESS_ERR: return 6;
	case IBV_WC_REM_OP_ERR: return 7;
	case IBV_WC_RETRY_EXC_ERR: return 8;
	case IBV_WC_RNR_RETRY_EXC_ERR: return 9;
	default: return 10;
	}
}

enum { STATUS_FLUSH = 4, OP_RECV = 4 };

static uint8_t opcode(uint8_t op)
{
	switch (op) {
	case IBV_WR_SEND_WITH_INV: return 1;
	case IBV_WR_RDMA_WRITE: return 2;
	case IBV_WR_RDMA_READ: return 3;
	default: return 0;
	}
}

/* emit makes the completion of a request of the send queue; 0 if the caller wants none. */
static int emit(const struct vb_qp *q, const struct vb_slot *s, uint8_t st, struct vb_wc *out)
{
	if (s->op == VB_SENTINEL || (st == 0 && !s->signaled))
		return 0;
	*out = (struct vb_wc){.id = s->id, .status = st, .op = opcode(s->op), .qpn = q->num};
	if (s->op == IBV_WR_RDMA_READ && st == 0)
		out->byte_len = s->len;
	return 1;
}

/* in_order makes the completions that are next in order, up to n. A request that is
 * not complete is no obstacle if it has been sent, unless it is a READ. */
static uint32_t in_order(struct vb_cq *c, struct vb_qp *q, struct vb_wc *out, uint32_t n)
{
	struct vb_ring *r = &q->sq;
	uint64_t head = r->head, tail = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
	uint32_t total = 0;

	q->waiting = 0;
	for (; head < tail; head++) {
		struct vb_slot *s = &r->slots[head & r->mask];
		if (!s->done && (s->op == IBV_WR_RDMA_READ || head >= q->sent))
			break;
		if (total == n) {
			q->waiting = c->waiting = 1;
			break;
		}
		if (s->done)
			total += emit(q, s, s->status, &out[total]);
	}
	__atomic_store_n(&r->head, head, __ATOMIC_RELEASE);
	return total;
}

static uint32_t still_waiting(struct vb_cq *c, struct vb_wc *out, uint32_t n)
{
	uint32_t total = 0;

	c->waiting = 0;
	for (uint32_t i = 0; i < c->size; i++)
		if (c->table[i] && c->table[i]->waiting && c->table[i]->send_index == i)
			total += in_order(c, c->table[i], out + total, n - total);
	return total;
}

/* translate makes out, of up to n completions, of what the device says. */
static uint32_t translate(struct vb_cq *c, const struct ibv_wc *in, struct vb_wc *out, uint32_t n)
{
	uint32_t index = in->wr_id >> 32 & 0x7fffffff;
	int recv = (in->wr_id & WR_RECV) != 0;
	struct vb_qp *q = index < c->size ? c->table[index] : NULL;

	if (!q || q->num != in->qp_num)
		return 0; /* of a queue pair that is no more */
	struct vb_ring *r = recv ? &q->rq : &q->sq;
	uint64_t head = r->head, tail = __atomic_load_n(&r->tail, __ATOMIC_ACQUIRE);
	uint64_t pos = head + (uint32_t)((uint32_t)in->wr_id - (uint32_t)head);
	if (pos >= tail)
		return 0;
	struct vb_slot *s = &r->slots[pos & r->mask];
	uint8_t st = status(in->status);
	if (!recv && q->reorder) {
		s->done = 1;
		s->status = st;
		if (q->sent <= pos)
			q->sent = pos + 1;
		return in_order(c, q, out, n);
	}
	if (!recv) {
		uint32_t mine = emit(q, s, st, out);
		__atomic_store_n(&r->head, pos + 1, __ATOMIC_RELEASE); /* and those before it */
		return mine;
	}
	*out = (struct vb_wc){.id = s->id, .status = st, .op = OP_RECV, .qpn = in->qp_num};
	if (in->status == IBV_WC_SUCCESS) {
		out->byte_len = in->byte_len;
		if (in->wc_flags & IBV_WC_WITH_INV) {
			out->invalidated = 1;
			out->inv_key = in->invalidated_rkey;
		} else if (in->wc_flags & IBV_WC_WITH_IMM) {
			out->imm = ntohl(in->imm_data);
		}
	}
	s->done = 1;
	while (head < tail && r->slots[head & r->mask].done)
		head++;
	__atomic_store_n(&r->head, head, __ATOMIC_RELEASE);
	return 1;
}

uint64_t vb_poll(struct vb_cq *c, struct vb_wc *out, uint32_t n)
{
	struct ibv_wc wc[32];
	uint32_t total = 0, errors = 0;

	if (__builtin_expect(c->waiting, 0))
		total = still_waiting(c, out, n);
	while (total < n) {
		int want = n - total < 32 ? (int)(n - total) : 32;
		int got = ibv_poll_cq(c->cq, want, wc);
		/* A READ that others have waited for brings them along, as far as there is
		 * room besides what follows. */
		for (int i = 0; i < got; i++)
			total += translate(c, &wc[i], &out[total], n - total - (got - 1 - i));
		if (got < want)
			break;
	}
	for (uint32_t i = 0; i < total; i++)
		errors += out[i].status != 0;
	return total | (uint64_t)errors << 32;
}

uint64_t vb_arm_poll(struct vb_cq *c, struct vb_wc *out, uint32_t n)
{
	int err = ibv_req_notify_cq(c->cq, 0);

	c->arm_error = err < 0 ? -err : err;
	return vb_poll(c, out, n);
}

int vb_reap(struct vb_qp *q, int recv, struct vb_wc *out)
{
	struct vb_ring *r = recv ? &q->rq : &q->sq;

	while (r->head < r->tail) {
		struct vb_slot *s = &r->slots[r->head & r->mask];
		int sent = s->done || (q->reorder && r->head < q->sent && s->op != IBV_WR_RDMA_READ);
		r->head++;
		if (!recv && sent) {
			if (s->done && emit(q, s, s->status, out))
				return 1;
			continue;
		}
		if (recv ? s->done : s->op == VB_SENTINEL)
			continue;
		*out = (struct vb_wc){.id = s->id, .status = STATUS_FLUSH, .op = recv ? OP_RECV : opcode(s->op), .qpn = q->num};
		return 1;
	}
	return 0;
}
