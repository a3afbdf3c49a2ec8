package email_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/mail"

	"github.com/emersion/go-smtp"

	"skidway/queue"
	"skidway/workers"
	"skidway/workers/kinds/email"
)

// printer is a mail server that prints what it gets.
type printer struct{ smtp.Session }

func (printer) Mail(from string, _ *smtp.MailOptions) error { fmt.Println("from", from); return nil }
func (printer) Rcpt(to string, _ *smtp.RcptOptions) error   { fmt.Println("to", to); return nil }
func (printer) Reset()                                      {}
func (printer) Logout() error                               { return nil }
func (printer) Data(content io.Reader) error {
	message, err := mail.ReadMessage(content)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(message.Body)
	fmt.Printf("%s: %s", message.Header.Get("Subject"), text)
	return err
}

// listen starts a mail server for the example.
func listen() (port int, end func() error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return printer{}, nil }))
	go func() { _ = server.Serve(listener) }()
	return listener.Addr().(*net.TCPAddr).Port, server.Close
}

// A worker sends mail, and templates in the job are filled in from its data.
func ExampleSender_Send() {
	port, end := listen()
	defer func() { _ = end() }()
	ctx, stop := context.WithCancel(context.Background())
	client, err := queue.Open(ctx, "embedded:", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	sender, err := email.New(email.Config{
		Host: "127.0.0.1", Port: port, TLS: email.TLSNone, From: "Shop <shop@example.com>",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer sender.Close()
	pool := workers.NewPool(client, &workers.Config{
		Logger: slog.New(slog.DiscardHandler),
		Hooks:  workers.Hooks{Ended: func(*queue.Job, workers.Report) { stop() }},
	})
	workers.Handle(pool, sender.Send)

	_, err = client.Enqueue(ctx, email.Args{
		To:      []string{"Ada <ada@example.com>"},
		Subject: "Order {{.number}}",
		Text:    "{{.name}}, it is on its way.",
		Data:    email.Data{"number": 42, "name": "Ada"},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := pool.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// from shop@example.com
	// to ada@example.com
	// Order 42: Ada, it is on its way.
}

// What is wrong with args is known before they are enqueued.
func ExampleArgs_Check() {
	args := email.Args{To: []string{"ada@example.com", "bob"}, Subject: "Hello", Text: "Hello"}
	fmt.Println(args.Check())
	// Output: field to[1]: "bob" is not an address: missing '@' or angle-addr
}

// A password needs a user name.
func ExampleNew() {
	_, err := email.New(email.Config{Host: "smtp.example.com", Password: "secret"})
	fmt.Println(err)
	// Output: not valid: email: username: it is empty, but there is a password or a method to log in
}
