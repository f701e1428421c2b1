//go:build linux && cgo && rdmacore

#include <errno.h>
#include <rdma/ib_user_verbs.h>
#include <string.h>
#include <unistd.h>

#include "shim.h"

/* libsiw takes the mapping that the kernel puts at offset 0x90000 of the device's
 * file for a sign of failure (SIW_INVAL_UOBJ_KEY; the kernel's keys have been file
 * offsets since 5.5), so that a process gets no further than its 144th queue. The
 * kernel gives out the lowest free offset: a completion queue made without libsiw,
 * which nobody uses and which ends with the device's file, takes it. */
int vb_siw_burn(struct ibv_context *c)
{
	struct {
		struct ib_uverbs_create_cq_resp r;
		uint8_t driver[64];
	} resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_create_cq cmd;
	} req;

	memset(&req, 0, sizeof req);
	req.hdr.command = IB_USER_VERBS_CMD_CREATE_CQ;
	req.hdr.in_words = sizeof req / 4;
	req.hdr.out_words = sizeof resp / 4;
	req.cmd.response = (uintptr_t)&resp;
	req.cmd.cqe = 1;
	req.cmd.comp_channel = -1;
	return write(c->cmd_fd, &req, sizeof req) == sizeof req ? 0 : errno;
}
