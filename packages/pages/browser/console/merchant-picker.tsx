import { useState } from 'preact/hooks';
import type { NamedMerchant } from '../../../client/src/api.generated';
import type { DataOf } from './api';
import { useLoaded } from './loaded';

const SEARCH = '/v1/merchants/search';

const ANY: NamedMerchant = { merchantId: '', name: 'Any' };

/** A field for the beginning of a merchant's name, with a list of those found. */
export function MerchantPicker({
  chosen,
  choose,
}: {
  chosen: string | undefined;
  /** Given an empty id for any merchant. */
  choose: (merchantId: string) => void;
}) {
  /** Undefined while the list is closed. */
  const [text, setText] = useState<string>();
  const [at, setAt] = useState(0);
  const name = text?.trim();
  const { data, former, error } = useLoaded<'searchMerchants'>(
    name === undefined ? undefined : SEARCH,
    name ? { name } : {},
  );
  const begins = (one: NamedMerchant) => one.name.toLowerCase().startsWith(name?.toLowerCase() ?? '');
  // Until the answer comes the former list stays, without names that do not begin so.
  const merchants = data?.merchants ?? former?.merchants.filter(begins);
  const options =
    text === undefined || merchants === undefined ? [] : [...(name === '' ? [ANY] : []), ...merchants];
  const own = useLoaded<'searchMerchants'>(chosen && SEARCH, { merchantId: chosen });
  const picked = (own.data ?? former)?.merchants.find(({ merchantId }) => merchantId === chosen);
  const look = (next: string | undefined) => {
    setText(next);
    setAt(0);
  };
  const pick = ({ merchantId }: NamedMerchant) => {
    look(undefined);
    choose(merchantId);
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    const option = options[at];
    if (step !== 0) {
      if (text === undefined) look('');
      else if (options.length > 0) setAt((at + step + options.length) % options.length);
    } else if (event.key === 'Enter' && option) pick(option);
    else if (event.key === 'Escape') look(undefined);
    else return;
    event.preventDefault();
  };
  return (
    <div class="picker">
      <label>
        Merchant
        <input
          role="combobox"
          aria-expanded={options.length > 0}
          aria-controls="merchants"
          aria-autocomplete="list"
          aria-activedescendant={options.length > 0 ? `merchant-${at}` : undefined}
          autocomplete="off"
          spellcheck={false}
          placeholder="Any"
          value={text ?? picked?.name ?? (own.data ? 'None of yours' : '')}
          onInput={(event) => look(event.currentTarget.value)}
          onClick={() => text === undefined && look('')}
          onKeyDown={press}
          onBlur={() => look(undefined)}
        />
      </label>
      {text !== undefined && (
        <div class="picked-from">
          <ul class="merchants" role="listbox" id="merchants" aria-label="Merchants">
            {options.map((one, n) => (
              <li
                key={one.merchantId}
                id={`merchant-${n}`}
                role="option"
                aria-selected={n === at}
                ref={(option) => {
                  if (n === at) option?.scrollIntoView({ block: 'nearest' });
                }}
                // The field keeps the focus.
                onMouseDown={(event) => event.preventDefault()}
                onClick={() => pick(one)}
              >
                {one.name}
              </li>
            ))}
          </ul>
          <p class="small quiet" role="status">
            {error ?? ((data || options.length === 0) && hint(data))}
          </p>
        </div>
      )}
    </div>
  );
}

function hint(data: DataOf<'searchMerchants'> | undefined): string {
  if (data === undefined) return 'Looking …';
  if (data.total === 0) return 'No merchant’s name begins so.';
  return data.total > data.merchants.length ? 'There are more: type the beginning of a name.' : '';
}
