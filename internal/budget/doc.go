// Package budget divides the limits of the machine, so that nobody can use up all. It divides the threads that block in system
// calls among the shares ([Shares]), and the descriptors of open files among the clients ([Files]). [DescriptorPlan] divides
// the descriptors of the process.
package budget
