import './on-one-engine/history';
import './on-one-engine/books';
