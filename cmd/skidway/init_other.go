//go:build !linux

package main

func runAsInit() int { panic("containers of this system have no process 1 of their own") }
