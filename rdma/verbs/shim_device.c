//go:build linux && cgo && rdmacore

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "shim.h"

int vb_device_list(struct ibv_device ***list, int *n)
{
	*n = 0;
	errno = 0;
	*list = vb.ibv_get_device_list(n);
	return *list ? 0 : errno ? errno : ENODEV;
}

void vb_free_device_list(struct ibv_device **list) { vb.ibv_free_device_list(list); }

const char *vb_device_name(struct ibv_device *d) { return vb.ibv_get_device_name(d); }

struct ibv_context *vb_open(struct ibv_device *d)
{
	errno = 0;
	return vb.ibv_open_device(d);
}

void vb_close(struct ibv_context *c) { vb.ibv_close_device(c); }

int vb_query_device(struct ibv_context *c, struct ibv_device_attr *attr) { return vb.ibv_query_device(c, attr); }

static int missing(void) { return errno ? errno : EIO; }

int vb_alloc_pd(struct ibv_context *c, struct ibv_pd **out)
{
	errno = 0;
	return (*out = vb.ibv_alloc_pd(c)) ? 0 : missing();
}

int vb_dealloc_pd(struct ibv_pd *pd) { return vb.ibv_dealloc_pd(pd); }

int vb_reg_mr(struct ibv_pd *pd, void *mem, size_t n, int access, struct ibv_mr **out)
{
	errno = 0;
	return (*out = vb.ibv_reg_mr(pd, mem, n, access)) ? 0 : missing();
}

int vb_dereg_mr(struct ibv_mr *mr) { return vb.ibv_dereg_mr(mr); }

int vb_port(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr)
{
	struct verbs_context *v = verbs_get_ctx_op(c, query_port);

	memset(attr, 0, sizeof *attr);
	if (v)
		return v->query_port(c, port, attr, sizeof *attr);
	return vb.ibv_query_port(c, port, (struct _compat_ibv_port_attr *)attr);
}

/* No attribute tells how much a queue pair takes inline: it is found by trying. */
uint32_t vb_max_inline(struct ibv_context *c)
{
	static const uint32_t sizes[] = {512, 400, 256, 188, 128, 96, 80, 64, 32};
	struct ibv_pd *pd = vb.ibv_alloc_pd(c);
	struct ibv_cq *cq = vb.ibv_create_cq(c, 4, NULL, NULL, 0);
	uint32_t found = 0;

	for (unsigned i = 0; pd && cq && !found && i < sizeof sizes / sizeof *sizes; i++) {
		struct ibv_qp_init_attr a = {
			.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
			.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = sizes[i]},
		};
		struct ibv_qp *qp = vb.ibv_create_qp(pd, &a);
		if (qp) {
			found = sizes[i];
			vb.ibv_destroy_qp(qp);
		}
	}
	if (cq)
		vb.ibv_destroy_cq(cq);
	if (pd)
		vb.ibv_dealloc_pd(pd);
	return found;
}

/* A driver that cannot take a device away from its users waits until they have
 * closed it, and librdmacm keeps devices open without need. What it will find
 * instead of its files refuses everything. */
void vb_orphan(struct ibv_context *c)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup3(null, c->cmd_fd, O_CLOEXEC);
	dup3(null, c->async_fd, O_CLOEXEC);
	close(null);
}

int vb_next_async(struct ibv_context *c, struct vb_async *out)
{
	struct ibv_async_event e;

	if (vb.ibv_get_async_event(c, &e))
		return errno ? errno : EIO;
	out->kind = e.event_type;
	out->handle = 0;
	out->qpn = 0;
	switch (e.event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		out->handle = (uintptr_t)e.element.qp->qp_context;
		out->qpn = e.element.qp->qp_num;
		break;
	default:
		break;
	}
	vb.ibv_ack_async_event(&e);
	return 0;
}
