import { useState } from 'preact/hooks';
import { Act } from './act';
import { ask, change, type DataOf } from './api';
import { Show, useLoaded, type Done } from './loaded';
import { attemptInWords } from './webhook';

const ENDPOINT = '/v1/webhooks/endpoint';

interface Props {
  done: Done;
}

/** The URL that webhooks go to. */
export function WebhookEndpoint({ done }: Props) {
  const loaded = useLoaded<'getWebhookEndpoint'>(ENDPOINT);
  const changed: Done = (said) => {
    loaded.reload();
    done(said);
  };
  return (
    <section class="card stack" aria-labelledby="endpoint">
      <h2 id="endpoint">Your URL</h2>
      <Show loaded={loaded} what="Your URL">
        {({ url }) => (
          <div class="head">
            <p class="mono">{url ?? 'None: no webhook is sent'}</p>
            <div class="row">
              {url !== null && <Test done={done} />}
              <Change url={url} done={changed} key={url} />
            </div>
          </div>
        )}
      </Show>
    </section>
  );
}

function Change({ url, done }: Props & DataOf<'getWebhookEndpoint'>) {
  const [next, setNext] = useState(url ?? '');
  return (
    <Act
      name="Change …"
      label="Change your URL"
      lowest="admin"
      title="Change your URL?"
      yes={next === '' ? 'Yes, send no more webhooks' : 'Yes, change it'}
      send={async () => (await change('PUT', ENDPOINT, { url: next === '' ? null : next })).message}
      done={done}
    >
      <label>
        URL, for retries of earlier webhooks too; empty for none
        <input type="url" value={next} onInput={(event) => setNext(event.currentTarget.value)} />
      </label>
    </Act>
  );
}

/** A first attempt takes ten seconds at most. */
const LOOKS_MAX = 20;
const LOOK_EACH_MS = 500;

const Test = ({ done }: Props) => (
  <Act
    name="Test it …"
    lowest="admin"
    title="Send a test webhook?"
    yes="Yes, send it"
    send={async () => {
      const { deliveryId } = (await change<'sendTestWebhook'>('POST', `${ENDPOINT}/test`)).data;
      for (let looks = 0; looks < LOOKS_MAX; looks++) {
        await new Promise((later) => setTimeout(later, LOOK_EACH_MS));
        const { attempts } = await ask<'getDelivery'>(`/v1/webhooks/deliveries/${deliveryId}`);
        const [first] = attempts;
        if (first) return `${first.error === null ? 'It works' : 'It failed'}: ${attemptInWords(first)}.`;
      }
      return 'The test webhook waits for its first attempt: the list shows it.';
    }}
    done={done}
  >
    <p>A webhook of the type webhook.test goes to your URL, signed like any other.</p>
  </Act>
);
