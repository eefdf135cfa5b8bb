package store

// Page is the part of a listing that is wanted. The zero value is all of it.
type Page[K any] struct {
	After *K   // what comes after this key
	Limit *int // as many, and one more, which says that there are more
}

// most is the argument of LIMIT: null is no limit.
func (p Page[K]) most() *int {
	if p.Limit == nil || *p.Limit < 1 {
		return nil
	}
	return new(*p.Limit + 1)
}
