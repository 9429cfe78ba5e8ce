import { show } from '../parts/show';

show(
  <main class="page stack">
    <h1>Assent console</h1>
    <p class="quiet">There is nothing to see here yet.</p>
  </main>,
);
