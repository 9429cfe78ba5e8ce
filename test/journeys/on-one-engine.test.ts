import './on-one-engine/engine';
import './on-one-engine/intent';
import './on-one-engine/transactions';
import './on-one-engine/customer-payment';
import './on-one-engine/merchant';
import './on-one-engine/device';
import './on-one-engine/customer-migration';
