package serve

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"skidway"
	"skidway/cmd/skidway/internal/cli"
	"skidway/ops/access"
)

// Token returns the command "token".
func Token(a *cli.App) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use:   "token",
		Short: "Creates, lists and revokes tokens of programs",
		Long: `A token allows a program to use the HTTP API, as far as its scopes go, until it
expires. It is sent as "Authorization: Bearer TOKEN". Redis has only its hash.

A scope is ACTION:QUEUE, or enqueue:QUEUE:KIND. QUEUE and KIND are patterns such
as "tenant-*". The actions: view, operate, enqueue, admin, reveal, scale. No
action includes another one. The pattern * for kinds does not cover exec.*,
http.*, email.*, logs.* and skidway.*: name those.`,
		Example: `  skidway token create --scope enqueue:mail:email.send --name shop
  skidway token list
  skidway token revoke 4f1a09c2be77`,
	})
	c.AddCommand(tokenCreate(a), tokenList(a), tokenRevoke(a))
	return c
}

func openTokens(db *skidway.DB) (*access.Tokens, error) { return access.NewTokens(db), nil }

var tokenView = cli.View[access.Token]{
	{Key: "id", Head: "ID", Whole: true, Value: func(t access.Token) any { return t.ID }},
	{Key: "name", Head: "NAME", Value: func(t access.Token) any { return t.Name }},
	{Key: "scopes", Head: "SCOPES", Fit: true, Value: func(t access.Token) any { return scopeTexts(t) }, Cell: scopesCell},
	{Key: "error", Value: func(t access.Token) any { return errorText(t) }, Omit: true},
	{Key: "created", Value: func(t access.Token) any { return t.Created.UTC() }},
	{Key: "expires", Head: "EXPIRES", Value: func(t access.Token) any { return t.Expires.UTC() }, Cell: func(t access.Token) string { return t.Expires.Local().Format(time.DateTime) }},
	{Key: "used", Head: "LAST USED", Value: func(t access.Token) any { return t.Used.UTC() }, Cell: func(t access.Token) string { return usedText(t) }, Omit: true},
	{Key: "by", Head: "CREATED BY", Value: func(t access.Token) any { return t.By }},
}

func scopeTexts(t access.Token) (texts []string) {
	for _, scope := range t.Scopes {
		texts = append(texts, scope.String())
	}
	return texts
}

func scopesCell(t access.Token) string {
	if t.Err != nil {
		return "? " + errorText(t)
	}
	return strings.Join(scopeTexts(t), " ")
}

// errorText returns why a token can't be read, if it can't.
func errorText(t access.Token) string {
	if t.Err == nil {
		return ""
	}
	return t.Err.Error()
}

func usedText(t access.Token) string {
	if t.Used.IsZero() {
		return "never"
	}
	return t.Used.Local().Format(time.DateTime)
}

func tokenCreate(a *cli.App) *cobra.Command {
	var scopes []string
	var name string
	days := cli.Number(90)
	c := &cobra.Command{
		Use:   "create",
		Short: "Creates a token and prints it, once",
		Long: `Creates a token and prints it. It can't be printed again. The scopes decide what
it is for; see 'skidway token --help'.`,
		Example: `  skidway token create --scope enqueue:mail:email.send --name shop
  skidway token create --scope 'view:*' --scope 'scale:*' --days 365`,
		Args: cli.Args(),
	}
	c.Flags().StringArrayVar(&scopes, "scope", nil, "`SCOPE` such as view:* or enqueue:mail:email.send (may be\nrepeated)")
	c.Flags().StringVar(&name, "name", "", "`NAME` of the program that uses it")
	c.Flags().Var(&days, "days", "number of days until it expires")
	_ = c.MarkFlagRequired("scope")
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openTokens, func(ctx context.Context, tokens *access.Tokens, _ []string) error {
		parsed, err := access.ParseScopes(scopes)
		if err != nil {
			return err
		}
		text, token, err := tokens.Create(ctx, access.Token{Name: name, Scopes: parsed, By: cli.Caller()}, time.Duration(days)*24*time.Hour)
		if err != nil {
			return err
		}
		a.Console.Notice("token %s, valid until %s: it can't be printed again", token.ID, token.Expires.Local().Format(time.DateTime))
		return a.PrintWord(output.Word, text, map[string]any{"id": token.ID, "token": text, "expires": token.Expires.UTC()})
	})
}

func tokenList(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:     "list",
		Short:   "Lists the tokens",
		Long:    "Lists the tokens, the latest first, also those that have expired. The last use\nmay be up to a minute earlier than it was.",
		Example: "  skidway token list -o json",
		Args:    cli.Args(),
	}
	output := cli.OutputFlag(a, c)
	return cli.Run(a, c, openTokens, func(ctx context.Context, tokens *access.Tokens, _ []string) error {
		all, err := tokens.List(ctx)
		if err != nil {
			return err
		}
		return cli.PrintView(a, output.Word, tokenView, all, nil)
	})
}

func tokenRevoke(a *cli.App) *cobra.Command {
	return cli.Run(a, &cobra.Command{
		Use:     "revoke ID...",
		Short:   "Revokes tokens",
		Long:    "Revokes tokens. Running servers accept them for up to 5 seconds longer.",
		Example: "  skidway token revoke 4f1a09c2be77",
		Args:    tokenIDs,
	}, openTokens, func(ctx context.Context, tokens *access.Tokens, ids []string) error {
		var unknown []error
		for _, id := range ids {
			err := tokens.Revoke(ctx, id)
			switch {
			case err == nil:
				a.Console.Notice("revoked token %s", id)
			case errors.Is(err, access.ErrNoToken): // the others are revoked still
				unknown = append(unknown, err)
			default:
				return errors.Join(append(unknown, err)...)
			}
		}
		return errors.Join(unknown...)
	})
}

// tokenIDs declares one or more ids of tokens. A whole token is refused before the audit has the arguments.
func tokenIDs(c *cobra.Command, args []string) error {
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "skd_") }) {
		return errors.New("give the id of the token, of 12 characters, not the token")
	}
	return cli.OneOrMore("ID")(c, args)
}
