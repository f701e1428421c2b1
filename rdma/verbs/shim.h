//go:build linux && cgo && rdmacore

/* What of libibverbs and librdmacm the package uses, as functions that Go can call
 * at little cost: libraries opened at run time, flat structures, one call per chain
 * of work requests and per batch of completions. */
#ifndef FILESERVER_VERBS_SHIM_H
#define FILESERVER_VERBS_SHIM_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>

#undef ibv_query_port
#undef ibv_reg_mr

#define VB_IBVERBS(X)                                                          \
	X(ibv_get_device_list) X(ibv_free_device_list) X(ibv_get_device_name)  \
	X(ibv_open_device) X(ibv_close_device)                                 \
	X(ibv_query_device) X(ibv_query_port)                                  \
	X(ibv_alloc_pd) X(ibv_dealloc_pd) X(ibv_reg_mr) X(ibv_dereg_mr)        \
	X(ibv_create_comp_channel) X(ibv_destroy_comp_channel)                 \
	X(ibv_create_cq) X(ibv_destroy_cq) X(ibv_get_cq_event)                 \
	X(ibv_ack_cq_events)                                                   \
	X(ibv_create_qp) X(ibv_modify_qp) X(ibv_destroy_qp)                    \
	X(ibv_get_async_event) X(ibv_ack_async_event)

#define VB_RDMACM(X)                                                           \
	X(rdma_create_event_channel) X(rdma_destroy_event_channel)             \
	X(rdma_create_id) X(rdma_destroy_id) X(rdma_set_option)                \
	X(rdma_bind_addr) X(rdma_listen) X(rdma_resolve_addr)                  \
	X(rdma_resolve_route) X(rdma_init_qp_attr) X(rdma_connect)             \
	X(rdma_establish) X(rdma_accept) X(rdma_reject) X(rdma_disconnect)     \
	X(rdma_notify) X(rdma_get_cm_event) X(rdma_ack_cm_event)

#define VB_MEMBER(f) __typeof__(f) *f;
struct vb_api {
	VB_IBVERBS(VB_MEMBER)
	VB_RDMACM(VB_MEMBER)
};
extern struct vb_api vb;

/* vb_load opens the libraries. On failure it returns the name of what is missing,
 * a library or a function. */
const char *vb_load(void);

/* Functions that can fail return 0 or an errno, and objects through a pointer. */

/* Devices (shim_device.c). */
int vb_device_list(struct ibv_device ***list, int *n);
void vb_free_device_list(struct ibv_device **list);
const char *vb_device_name(struct ibv_device *d);
struct ibv_context *vb_open(struct ibv_device *d); /* errno */
void vb_close(struct ibv_context *c);
int vb_query_device(struct ibv_context *c, struct ibv_device_attr *attr);
int vb_alloc_pd(struct ibv_context *c, struct ibv_pd **out);
int vb_dealloc_pd(struct ibv_pd *pd);
int vb_reg_mr(struct ibv_pd *pd, void *mem, size_t n, int access, struct ibv_mr **out);
int vb_dereg_mr(struct ibv_mr *mr);
int vb_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr);
uint32_t vb_max_inline(struct ibv_context *c);
void vb_orphan(struct ibv_context *c);

int vb_siw_burn(struct ibv_context *c); /* shim_siw.c */

struct vb_async {
	uint64_t handle; /* of the queue pair, or 0 */
	uint32_t qpn;
	int32_t kind;
};
int vb_next_async(struct ibv_context *c, struct vb_async *out);

/* Connections (shim_cm.c). An id's context is the caller's handle. */
struct vb_event {
	uint64_t handle; /* the id's; with a connect request the listener's */
	struct rdma_cm_id *id;
	int32_t kind, status;
	uint8_t ird, ord, rnr_retry, private_len;
	uint8_t private_data[256];
};
struct rdma_event_channel *vb_new_channel(void); /* errno */
void vb_destroy_channel(struct rdma_event_channel *ch);
int vb_next_event(struct rdma_event_channel *ch, struct vb_event *out);
const void *vb_local(struct rdma_cm_id *id); /* struct sockaddr */
const void *vb_remote(struct rdma_cm_id *id);
int vb_create_id(struct rdma_event_channel *ch, uint64_t handle, struct rdma_cm_id **out);
void vb_set_handle(struct rdma_cm_id *id, uint64_t handle);
int vb_only_v6(struct rdma_cm_id *id);
int vb_bind(struct rdma_cm_id *id, const void *addr);
int vb_listen(struct rdma_cm_id *id, int backlog);
int vb_resolve_addr(struct rdma_cm_id *id, const void *addr, int ms);
int vb_resolve_route(struct rdma_cm_id *id, int ms);
struct vb_param {
	uint32_t qpn;
	uint8_t ird, ord, rnr_retry, srq, private_len;
	uint8_t private_data[256];
};
int vb_connect(struct rdma_cm_id *id, const struct vb_param *p);
int vb_accept(struct rdma_cm_id *id, const struct vb_param *p);
int vb_reject(struct rdma_cm_id *id, const struct vb_param *p);
int vb_establish(struct rdma_cm_id *id);
int vb_notify(struct rdma_cm_id *id, int event);
int vb_disconnect(struct rdma_cm_id *id);
int vb_destroy_id(struct rdma_cm_id *id);

/* Queues (shim_queue.c).
 *
 * A ring remembers what is posted and not complete, in order: the device gets the
 * position as wr_id, and the caller's ID and what a failed completion does not tell
 * come from here. tail belongs to the poster, head to the poller. */
struct vb_slot {
	uint64_t id;
	uint32_t len;     /* of an RDMA READ */
	uint8_t op;       /* enum ibv_wr_opcode, or VB_SENTINEL */
	uint8_t signaled; /* the caller wants a completion */
	uint8_t done;     /* completed out of order */
	uint8_t status;   /* if done */
};
enum { VB_SENTINEL = 0xff };
struct vb_ring {
	struct vb_slot *slots;
	uint64_t mask, limit, head, tail;
};
struct vb_qp {
	struct ibv_qp *qp;
	uint32_t num;
	uint32_t send_index, recv_index; /* in the tables of the completion queues */
	uint32_t max_send_sge, max_recv_sge;
	struct vb_ring sq, rq;
	uint64_t trailing; /* unsignalled requests at the end of the send queue */
	uint64_t sent;     /* where reorder: every request before this one has been sent */
	int reorder;       /* the device completes READs after what was posted later */
	int waiting;       /* completions that are next in order did not fit the last poll */
	struct ibv_send_wr *swr; /* linked, as are their lists; one for each slot */
	struct ibv_sge *ssge;
	struct ibv_recv_wr *rwr;
	struct ibv_sge *rsge;
};
struct vb_cq {
	struct ibv_cq *cq;
	struct vb_qp **table;
	uint32_t size;
	uint32_t unacked;
	int waiting; /* of some queue pair */
	int arm_error;
};
/* vb_wc is struct rdma.WC of Go. */
struct vb_wc {
	uint64_t id;
	uint8_t status, op, invalidated;
	uint32_t byte_len, inv_key, imm, qpn;
};

int vb_create_cq(struct ibv_context *c, int depth, struct ibv_comp_channel **ch, struct vb_cq **out);
/* vb_destroy_cq leaves the channel's file to the caller. */
void vb_destroy_cq(struct vb_cq *cq, struct ibv_comp_channel *ch);
int vb_attach(struct vb_cq *cq, struct vb_qp *qp, uint32_t *index);
void vb_detach(struct vb_cq *cq, uint32_t index);
/* vb_poll returns how many completions it has put into out, and in the high half how many of them failed. */
uint64_t vb_poll(struct vb_cq *cq, struct vb_wc *out, uint32_t n);
/* vb_arm_poll arms the queue, then polls; cq->arm_error tells whether it could. */
uint64_t vb_arm_poll(struct vb_cq *cq, struct vb_wc *out, uint32_t n);
/* vb_take_event returns 0 if the queue's channel had an event, otherwise EAGAIN or another error. */
int vb_take_event(struct vb_cq *cq, struct ibv_comp_channel *ch);

struct vb_qp_config {
	uint64_t handle;
	uint32_t send_depth, recv_depth, send_sge, recv_sge, max_inline;
};
int vb_create_qp(struct ibv_pd *pd, struct vb_cq *scq, struct vb_cq *rcq, const struct vb_qp_config *cfg, struct vb_qp **out);
/* vb_modify makes the transition to state with the attributes that the connection manager knows. */
int vb_modify(struct vb_qp *qp, struct rdma_cm_id *id, int state, int ird, int ord);
int vb_fail_qp(struct vb_qp *qp);
int vb_destroy_qp(struct vb_qp *qp); /* the device's; what is in the rings stays */
void vb_free_qp(struct vb_qp *qp);
/* vb_post_send posts swr[0..n); their wr_id is the caller's. -1: the queue is full;
 * -2: something failed after a part had been posted, all of it is in the ring. */
int vb_post_send(struct vb_qp *qp, uint32_t n);
int vb_post_recv(struct vb_qp *qp, uint32_t n);
/* vb_keep copies what a list names into memory to be freed. */
void *vb_keep(const struct ibv_sge *sgl, uint32_t n, uint32_t *len);
int vb_post_sentinel(struct vb_qp *qp);
/* vb_reap takes the oldest request out of a ring of a queue pair that is destroyed; 0 when it is empty. */
int vb_reap(struct vb_qp *qp, int recv, struct vb_wc *out);
uint64_t vb_outstanding(struct vb_qp *qp, int recv);

#endif
