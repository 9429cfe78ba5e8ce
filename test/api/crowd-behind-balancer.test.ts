import { withstandsFloods } from './crowd/stage';

describe('an API behind a balancer', () => {
  withstandsFloods({ TRUSTED_PROXIES: '127.0.0.1' }, ['127.0.0.1']);
});
