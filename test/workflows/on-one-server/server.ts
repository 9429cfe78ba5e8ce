import { timeSkippingServer } from '../../support/time-skipping';
import { workflowBundle } from '../../support/workflow-worker';

/** One server, a Java program, for the workflows of which each takes a few seconds. */
export const newEnvironment = timeSkippingServer();

beforeAll(() => workflowBundle());
