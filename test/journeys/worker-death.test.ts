import './on-one-engine/worker-death';
import './on-one-engine/books';
