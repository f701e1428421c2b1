//go:build linux && cgo && rdmacore

#include <errno.h>
#include <string.h>

#include "shim.h"

static int result(int r) { return r ? (errno ? errno : EIO) : 0; }

struct rdma_event_channel *vb_new_channel(void)
{
	errno = 0;
	return vb.rdma_create_event_channel();
}

void vb_destroy_channel(struct rdma_event_channel *ch) { vb.rdma_destroy_event_channel(ch); }

int vb_next_event(struct rdma_event_channel *ch, struct vb_event *out)
{
	struct rdma_cm_event *e;

	errno = 0;
	if (vb.rdma_get_cm_event(ch, &e))
		return result(-1);
	struct rdma_conn_param *p = &e->param.conn;
	struct rdma_cm_id *of = e->event == RDMA_CM_EVENT_CONNECT_REQUEST ? e->listen_id : e->id;
	out->handle = (uintptr_t)of->context;
	out->id = e->id;
	out->kind = e->event;
	out->status = e->status;
	out->ird = p->responder_resources;
	out->ord = p->initiator_depth;
	out->rnr_retry = p->rnr_retry_count;
	out->private_len = p->private_data ? p->private_data_len : 0;
	memcpy(out->private_data, p->private_data, out->private_len);
	vb.rdma_ack_cm_event(e);
	return 0;
}

const void *vb_local(struct rdma_cm_id *id) { return &id->route.addr.src_storage; }

const void *vb_remote(struct rdma_cm_id *id) { return &id->route.addr.dst_storage; }

int vb_create_id(struct rdma_event_channel *ch, uint64_t handle, struct rdma_cm_id **out)
{
	return result(vb.rdma_create_id(ch, out, (void *)(uintptr_t)handle, RDMA_PS_TCP));
}

void vb_set_handle(struct rdma_cm_id *id, uint64_t handle) { id->context = (void *)(uintptr_t)handle; }

int vb_only_v6(struct rdma_cm_id *id)
{
	int on = 1;

	return result(vb.rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, sizeof on));
}

int vb_bind(struct rdma_cm_id *id, const void *addr) { return result(vb.rdma_bind_addr(id, (struct sockaddr *)addr)); }

int vb_listen(struct rdma_cm_id *id, int backlog) { return result(vb.rdma_listen(id, backlog)); }

int vb_resolve_addr(struct rdma_cm_id *id, const void *addr, int ms)
{
	return result(vb.rdma_resolve_addr(id, NULL, (struct sockaddr *)addr, ms));
}

int vb_resolve_route(struct rdma_cm_id *id, int ms) { return result(vb.rdma_resolve_route(id, ms)); }

static struct rdma_conn_param param(const struct vb_param *p)
{
	return (struct rdma_conn_param){
		.private_data = p->private_data, .private_data_len = p->private_len,
		.responder_resources = p->ird, .initiator_depth = p->ord,
		.flow_control = 1, .retry_count = 7, .rnr_retry_count = p->rnr_retry,
		.srq = p->srq, .qp_num = p->qpn,
	};
}

int vb_connect(struct rdma_cm_id *id, const struct vb_param *p)
{
	struct rdma_conn_param c = param(p);

	return result(vb.rdma_connect(id, &c));
}

int vb_accept(struct rdma_cm_id *id, const struct vb_param *p)
{
	struct rdma_conn_param c = param(p);

	return result(vb.rdma_accept(id, &c));
}

int vb_reject(struct rdma_cm_id *id, const struct vb_param *p)
{
	return result(vb.rdma_reject(id, p->private_data, p->private_len));
}

int vb_establish(struct rdma_cm_id *id) { return result(vb.rdma_establish(id)); }

int vb_notify(struct rdma_cm_id *id, int event) { return result(vb.rdma_notify(id, event)); }

int vb_disconnect(struct rdma_cm_id *id) { return result(vb.rdma_disconnect(id)); }

int vb_destroy_id(struct rdma_cm_id *id) { return result(vb.rdma_destroy_id(id)); }
