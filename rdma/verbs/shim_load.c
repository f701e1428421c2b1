//go:build linux && cgo && rdmacore

#include <dlfcn.h>
#include <stdlib.h>

#include "shim.h"

struct vb_api vb;

const char *vb_load(void)
{
	/* Lets objects of a device that is gone be destroyed: libibverbs otherwise
	 * insists on the kernel's answer. Read when the library is initialised. */
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 0);

	void *lib = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_GLOBAL);
	if (!lib)
		return "libibverbs.so.1";
#define VB_FIND(f)                                                             \
	if (!(vb.f = (__typeof__(vb.f))dlsym(lib, #f)))                        \
		return #f;
	VB_IBVERBS(VB_FIND)

	lib = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_GLOBAL);
	if (!lib)
		return "librdmacm.so.1";
	VB_RDMACM(VB_FIND)
	return NULL;
}
