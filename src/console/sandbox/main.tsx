import { show } from '../parts/show';

show(
  <main class="page stack">
    <h1>Assent sandbox</h1>
    <p class="quiet" role="status">
      Connecting …
    </p>
  </main>,
);
