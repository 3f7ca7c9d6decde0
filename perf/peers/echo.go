// A TCP echo server on Go's net package: a goroutine a connection, one thread that runs them.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"
)

const blockBytes = 64 * 1024

var (
	port = flag.Int("port", 7000, "TCP port")
	cpu  = flag.Int("cpu", -1, "CPU to run on, -1 for any")
)

func fail(text string, err error) {
	fmt.Fprintf(os.Stderr, "echo: %s: %v\n", text, err)
	os.Exit(1)
}

// Binds all threads there are; those that Go starts later inherit it.
func pin(cpu int) {
	var mask [16]uint64
	mask[cpu/64] = 1 << (cpu % 64)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		fail("cannot list the threads", err)
	}
	for _, task := range tasks {
		var id int
		_, _ = fmt.Sscan(task.Name(), &id)
		_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(id),
			unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
		if errno != 0 && errno != syscall.ESRCH {
			fail("cannot run on that CPU", errno)
		}
	}
}

func serve(connection net.Conn) {
	defer connection.Close()
	block := make([]byte, blockBytes)
	for {
		n, err := connection.Read(block)
		if n > 0 {
			if _, err := connection.Write(block[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func main() {
	flag.Parse()
	if *cpu >= 1024 {
		fail("--cpu", syscall.EINVAL)
	}
	if *cpu >= 0 {
		pin(*cpu)
	}
	runtime.GOMAXPROCS(1)
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		fail("cannot listen", err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				fail("cannot accept", err)
			}
			go serve(connection)
		}
	}()
	<-signals
	fmt.Println("{\"benchmark\": \"peers/go_echo\"}")
}
