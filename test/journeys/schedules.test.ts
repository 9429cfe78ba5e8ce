import './on-one-engine/recurring';
import './on-one-engine/books';
