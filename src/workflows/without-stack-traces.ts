/*
 * The SDK takes a stack trace for each promise of a workflow, and maps each frame to its source.
 * `WORKFLOW_STACK_TRACES` leaves this module out.
 */
Error.stackTraceLimit = 0;
