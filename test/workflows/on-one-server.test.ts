import './on-one-server/consent';
import './on-one-server/recover';
import './on-one-server/refund';
import './on-one-server/sandbox-clock';
import './on-one-server/sweep';
import './on-one-server/webhook-delivery';
