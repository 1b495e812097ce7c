package contract

func (c *checker) growth() {}
