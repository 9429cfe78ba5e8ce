import './on-one-engine/intent';
import './on-one-engine/billing-request';
import './on-one-engine/bank-file';
import './on-one-engine/waiting-webhooks';
import './on-one-engine/books';
