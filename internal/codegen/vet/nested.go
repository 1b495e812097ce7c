package vet

// mostNested is how many tables within each other eachHeld looks into.
const mostNested = 3

// eachHeld calls visit with a value and with what its tables hold. It does not look into a value for which visit returns false.
func (s *state) eachHeld(v value, visit func(value) bool) { s.eachNested(v, mostNested, visit) }

func (s *state) eachNested(v value, depth int, visit func(value) bool) {
	if !visit(v) || depth == 0 {
		return
	}
	for _, id := range v.objects {
		o := s.get(id)
		if o == nil {
			continue
		}
		for _, f := range o.fields {
			s.eachNested(*f.v, depth-1, visit)
		}
		for _, item := range o.items {
			s.eachNested(item, depth-1, visit)
		}
		if o.elem != nil {
			s.eachNested(*o.elem, depth-1, visit)
		}
	}
}
