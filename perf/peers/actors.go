// The work of perf/ring, perf/ask and perf/fanin on goroutines and channels: an actor is a goroutine
// that takes mail from a channel with room for all mail that can be under way, so that nobody waits
// for room. Loops are the threads that Go may run at once; Go decides which goroutine runs on which.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const warmUpShare = 10

var (
	loops       = flag.Int("loops", 1, "threads that run at once")
	cpus        = flag.String("cpus", "", "CPUs for them, as 0,1")
	asJSON      = flag.Bool("json", false, "one JSON object")
	actors      = flag.Int("actors", 100, "ring: actors")
	messages    = flag.Int("messages", 1024, "ring: tokens that go round; fanin: how many to measure")
	hops        = flag.Int("hops", 10000000, "ring: hops of all tokens")
	outstanding = flag.Int("outstanding", 1, "ask: asks on their way at once")
	asks        = flag.Int("asks", 10000000, "ask: how many in all")
	producers   = flag.Int("producers", 8, "fanin: goroutines that send")
	batch       = flag.Int("batch", 256, "fanin: messages for a credit")
	window      = flag.Int("window", 2, "fanin: credits of each producer")
	apart       = flag.Bool("apart", false, "fanin: taken, and means nothing here")
)

func fail(text string, err error) {
	fmt.Fprintf(os.Stderr, "actors: %s: %v\n", text, err)
	os.Exit(1)
}

// Threads that Go starts later inherit the CPUs of the thread that starts them.
func pin(list string) {
	var mask [16]uint64
	for _, text := range strings.Split(list, ",") {
		cpu, err := strconv.Atoi(text)
		if err != nil || cpu < 0 || cpu >= 64*len(mask) {
			fail("--cpus "+list, syscall.EINVAL)
		}
		mask[cpu/64] |= 1 << (cpu % 64)
	}
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		fail("cannot list the threads", err)
	}
	for _, task := range tasks {
		id, _ := strconv.Atoi(task.Name())
		_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(id),
			unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
		if errno != 0 && errno != syscall.ESRCH {
			fail("cannot run on these CPUs", errno)
		}
	}
}

func print(name, unit string, count int, elapsed time.Duration) {
	rate := float64(count) / elapsed.Seconds()
	if !*asJSON {
		fmt.Printf("%s: %.4g %s/s\n", name, rate, unit)
		return
	}
	fmt.Printf("{\"benchmark\": \"peers/go_%s\", \"%s_per_s\": %.1f", name, unit, rate)
	if name == "ring" {
		fmt.Printf(", \"laps_per_s\": %.1f", rate/float64(*actors))
	}
	fmt.Println("}")
}

// Ring: each token makes its share of the hops, and is done.

type token struct{ left int }

func round(mailboxes []chan token, tokens, hops int, done chan bool) time.Duration {
	start := time.Now()
	for i := 0; i < tokens; i++ {
		mailboxes[i%len(mailboxes)] <- token{hops / tokens}
	}
	for i := 0; i < tokens; i++ {
		<-done
	}
	return time.Since(start)
}

func ring() {
	mailboxes := make([]chan token, *actors)
	done := make(chan bool, *messages)
	for i := range mailboxes {
		mailboxes[i] = make(chan token, *messages)
	}
	for i := range mailboxes {
		go func(mine, next chan token) {
			for t := range mine {
				if t.left--; t.left == 0 {
					done <- true
				} else {
					next <- t
				}
			}
		}(mailboxes[i], mailboxes[(i+1)%*actors])
	}
	share := *hops / *messages * *messages
	round(mailboxes, *messages, share/warmUpShare, done)
	print("ring", "hops", share, round(mailboxes, *messages, share, done))
}

// Asks: a question carries the channel that its answer goes to.

type question struct {
	number int
	answer chan int
}

func exchange(server chan question, answers chan int, count int) time.Duration {
	start := time.Now()
	sent := 0
	for ; sent < *outstanding && sent < count; sent++ {
		server <- question{sent, answers}
	}
	for got := 0; got < count; got++ {
		<-answers
		if sent < count {
			server <- question{sent, answers}
			sent++
		}
	}
	return time.Since(start)
}

func ask() {
	server := make(chan question, *outstanding)
	answers := make(chan int, *outstanding)
	go func() {
		for q := range server {
			q.answer <- q.number + 1
		}
	}()
	exchange(server, answers, *asks/warmUpShare)
	print("ask", "asks", *asks, exchange(server, answers, *asks))
}

// Fan-in: a batch of parcels for each credit, which comes back when the last of a batch was taken.

type parcel struct{ producer, number int }

func produce(index int, credits chan bool, consumer chan parcel) {
	number := 0
	for range credits {
		for i := 0; i < *batch; i++ {
			consumer <- parcel{index, number}
			number++
		}
	}
}

func consume(consumer chan parcel, expected []int, credits []chan bool, count int) time.Duration {
	start := time.Now()
	for taken := 0; taken < count; taken++ {
		p := <-consumer
		if p.number != expected[p.producer] {
			fail("a parcel is out of order", syscall.EPROTO)
		}
		expected[p.producer]++
		if expected[p.producer]%*batch == 0 {
			credits[p.producer] <- true
		}
	}
	return time.Since(start)
}

func fanin() {
	consumer := make(chan parcel, *producers**window**batch)
	credits := make([]chan bool, *producers)
	expected := make([]int, *producers)
	for i := range credits {
		credits[i] = make(chan bool, *window)
		for k := 0; k < *window; k++ {
			credits[i] <- true
		}
		go produce(i, credits[i], consumer)
	}
	consume(consumer, expected, credits, *messages/warmUpShare)
	print("fanin", "messages", *messages, consume(consumer, expected, credits, *messages))
}

func main() {
	works := map[string]func(){"ring": ring, "ask": ask, "fanin": fanin}
	if len(os.Args) < 2 || works[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: actors ring|ask|fanin [options]; --help after it lists them")
		os.Exit(2)
	}
	_ = flag.CommandLine.Parse(os.Args[2:])
	if *cpus != "" {
		pin(*cpus)
	}
	runtime.GOMAXPROCS(*loops)
	works[os.Args[1]]()
}
