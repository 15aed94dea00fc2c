package main

import "errors"

func (d demoCmd) Run() error { return errors.New("not yet") }
