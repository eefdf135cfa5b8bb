package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spillway-gateway/spillway/api/admin"
)

func modelActs() []act {
	return []act{
		{"models", "list", "", "list the models that are enabled on providers", modelsList},
		{"models", "enable", "PROVIDER/MODEL...", "enable models on their providers", modelsEnable},
		{"models", "disable", "PROVIDER/MODEL", "disable a model, in every route", modelsDisable},
		{"models", "delete", "PROVIDER/MODEL", "delete a model of a provider; routes keep their targets, which then serve no more", modelsDelete},
	}
}

// enablements are the rows that enable a model.
func (a *adminCall) enablements(ctx context.Context) (l listed[admin.ModelMapping], err error) {
	if l, err = all[admin.ModelMapping](ctx, a.ListModelMappings, nil); err != nil {
		return l, err
	}
	only := listed[admin.ModelMapping]{raw: []json.RawMessage{}}
	for i, m := range l.items {
		if m.ModelAlias == m.UpstreamModel {
			only.items, only.raw = append(only.items, m), append(only.raw, l.raw[i])
		}
	}
	return only, nil
}

// enablement is the row that enables PROVIDER/MODEL.
func (a *adminCall) enablement(ctx context.Context, wanted string) (m admin.ModelMapping, err error) {
	l, err := a.enablements(ctx)
	if err != nil {
		return m, err
	}
	provider, model, _ := strings.Cut(wanted, "/")
	i := slices.IndexFunc(l.items, func(m admin.ModelMapping) bool {
		return m.Id.String() == strings.ToLower(wanted) || addressName(m.ProviderName) == addressName(provider) && m.UpstreamModel == model
	})
	if i < 0 {
		return m, fmt.Errorf("the model %q is not enabled", wanted)
	}
	return l.items[i], nil
}

func modelsList(ctx context.Context, a *adminCall) error {
	provider := a.flags.String("provider", "", "only those of this provider")
	if _, err := a.begin(0, 0); err != nil {
		return err
	}
	l, err := a.enablements(ctx)
	if err != nil {
		return err
	}
	if *provider != "" {
		p, _, err := a.provider(ctx, *provider)
		if err != nil {
			return err
		}
		kept := listed[admin.ModelMapping]{raw: []json.RawMessage{}}
		for i, m := range l.items {
			if m.ProviderId == p.Id {
				kept.items, kept.raw = append(kept.items, m), append(kept.raw, l.raw[i])
			}
		}
		l = kept
	}
	return a.show(l.raw, func(t *table) {
		t.row("MODEL", "STATE", "CALLED AS", "IN USD/M", "OUT USD/M", "PRICE FROM")
		for _, m := range l.items {
			called := addressName(m.ProviderName) + "/" + m.UpstreamModel
			if m.BareAlias {
				called += ", " + m.ModelAlias
			}
			price := m.EffectivePricing
			t.row(targetName(m), standing(m), called, or(price.InputCostPerMillionTokens), or(price.OutputCostPerMillionTokens), price.Source)
		}
	})
}

func modelsEnable(ctx context.Context, a *adminCall) error {
	note := a.note()
	args, err := a.begin(1, 1000)
	if err != nil {
		return err
	}
	targets, err := a.resolve(ctx, args)
	if err != nil {
		return err
	}
	had, err := a.enablements(ctx)
	if err != nil {
		return err
	}
	for i, t := range targets {
		at := slices.IndexFunc(had.items, func(m admin.ModelMapping) bool {
			return m.ProviderId == t.ProviderId && m.UpstreamModel == t.UpstreamModel
		})
		if at >= 0 { // creating it again would put its settings back to their defaults
			err = a.changeMapping(ctx, had.items[at].Id, admin.ModelMappingUpdate{Enabled: new(true), ChangeNote: note()}, "Enabled %s.", args[i])
		} else {
			err = a.createMapping(ctx, admin.ModelMappingCreate{ProviderId: t.ProviderId, ModelAlias: t.UpstreamModel, UpstreamModel: t.UpstreamModel, ChangeNote: note()}, "Enabled %s.", args[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *adminCall) createMapping(ctx context.Context, body admin.ModelMappingCreate, done string, args ...any) error {
	made, err := a.CreateModelMappingWithResponse(ctx, nil, body)
	if err != nil {
		return err
	}
	return a.say(made.Body, done, args...)
}

func (a *adminCall) changeMapping(ctx context.Context, id uuid.UUID, body admin.ModelMappingUpdate, done string, args ...any) error {
	changed, err := a.UpdateModelMappingWithResponse(ctx, id, nil, body)
	if err != nil {
		return err
	}
	return a.say(changed.Body, done, args...)
}

// oneModel begins an act on a model; name is what it was called.
func (a *adminCall) oneModel(ctx context.Context) (m admin.ModelMapping, name string, err error) {
	args, err := a.begin(1, 1)
	if err != nil {
		return m, "", err
	}
	m, err = a.enablement(ctx, args[0])
	return m, args[0], err
}

func modelsDisable(ctx context.Context, a *adminCall) error {
	note := a.note()
	m, name, err := a.oneModel(ctx)
	if err != nil {
		return err
	}
	return a.changeMapping(ctx, m.Id, admin.ModelMappingUpdate{Enabled: new(false), ChangeNote: note()}, "Disabled %s.", name)
}

func modelsDelete(ctx context.Context, a *adminCall) error {
	yes := a.yesFlag()
	m, name, err := a.oneModel(ctx)
	if err != nil {
		return err
	}
	if err := a.confirm(*yes, "Delete the model "+name+"? Targets of routes that use it serve no more."); err != nil {
		return err
	}
	gone, err := a.DeleteModelMappingWithResponse(ctx, m.Id, nil)
	if err != nil {
		return err
	}
	return a.say(gone.Body, "Deleted the model %s.", name)
}
