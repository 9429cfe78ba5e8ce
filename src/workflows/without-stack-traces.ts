/*
 * The SDK takes a stack trace for each promise of a workflow and maps each frame, which was more
 * than half of a workflow's own processor time. `WORKFLOW_STACK_TRACES` leaves this module out.
 */
Error.stackTraceLimit = 0;
