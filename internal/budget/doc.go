// Package budget divides what the machine has among those who use it, so that none of them takes
// all: the threads that block in system calls among the shares ([Shares]), and the descriptors of
// open files among the clients ([Files]). [DescriptorPlan] says what the descriptors of the process
// are for.
package budget
