import { useRef } from 'preact/hooks';

/** A text to search for, which no address holds: it may be a name. */
export function SearchForm({
  name,
  text,
  look,
}: {
  name: string;
  /** Searched for now. */
  text: string;
  look: (text: string) => void;
}) {
  const field = useRef<HTMLInputElement>(null);
  return (
    <form
      role="search"
      class="row fields"
      onSubmit={(event) => {
        event.preventDefault();
        look(field.current?.value.trim() ?? '');
      }}
    >
      <label class="wide">
        {name}
        <input ref={field} type="search" defaultValue={text} spellcheck={false} autocapitalize="none" />
      </label>
      <button class="first" type="submit">
        Search
      </button>
      {text !== '' && (
        <button
          type="button"
          class="plain"
          onClick={() => {
            if (field.current) field.current.value = '';
            field.current?.focus();
            look('');
          }}
        >
          Clear “{text}”
        </button>
      )}
    </form>
  );
}
