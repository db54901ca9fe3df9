; The household: one agent, places to stand (locations), furniture that things lie in or on
; (receptacles) and the things themselves (objects). Names of types, predicates, actions and
; parameters are those of ALFWorld game files, so that whatever reads those reads these.
;
; What is deliberately not modelled: room inside a receptacle, weight, time, distance. Receptacles
; that share a location are all within reach from there.

(define (domain household)
 (:requirements :adl :typing)
 (:types agent location receptacle object rtype otype)

 (:predicates
    ; the room
    (receptacleType ?r - receptacle ?t - rtype)
    (receptacleAtLocation ?r - receptacle ?l - location)
    (openable ?r - receptacle)
    (canContain ?rt - rtype ?ot - otype)

    ; what a thing is
    (objectType ?o - object ?t - otype)
    (pickupable ?o - object)
    (cleanable ?o - object)
    (heatable ?o - object)
    (coolable ?o - object)
    (sliceable ?o - object)
    (toggleable ?o - object)
    (isReceptacleObject ?o - object)

    ; where everything is
    (atLocation ?a - agent ?l - location)
    (objectAtLocation ?o - object ?l - location)
    (inReceptacle ?o - object ?r - receptacle)
    (inReceptacleObject ?innerObject - object ?outerObject - object)
    (holds ?a - agent ?o - object)
    (holdsAny ?a - agent)

    ; what has been done
    (opened ?r - receptacle)
    (checked ?r - receptacle)
    (isClean ?o - object)
    (isHot ?o - object)
    (isCool ?o - object)
    (isSliced ?o - object)
    (isOn ?o - object)
    (isToggled ?o - object)
 )

 ; ---- moving about

 (:action GotoLocation
    :parameters (?a - agent ?lStart - location ?lEnd - location ?r - receptacle)
    :precondition (and (receptacleAtLocation ?r ?lEnd) (atLocation ?a ?lStart))
    :effect (and (atLocation ?a ?lEnd) (not (atLocation ?a ?lStart)))
 )

 ; ---- furniture

 (:action OpenObject
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and
        (atLocation ?a ?l)
        (receptacleAtLocation ?r ?l)
        (openable ?r)
        (not (opened ?r)))
    :effect (and (opened ?r) (checked ?r))
 )

 (:action CloseObject
    :parameters (?a - agent ?l - location ?r - receptacle)
    :precondition (and
        (atLocation ?a ?l)
        (receptacleAtLocation ?r ?l)
        (openable ?r)
        (opened ?r))
    :effect (and (not (opened ?r)))
 )

 ; ---- carrying: one thing at a time, and nothing passes through a closed door

 (:action PickupObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
    :precondition (and
        (atLocation ?a ?l)
        (receptacleAtLocation ?r ?l)
        (or (opened ?r) (not (openable ?r)))
        (inReceptacle ?o ?r)
        (pickupable ?o)
        (not (holdsAny ?a)))
    :effect (and
        (holds ?a ?o)
        (holdsAny ?a)
        (not (inReceptacle ?o ?r))
        (not (objectAtLocation ?o ?l)))
 )

 (:action PutObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle ?ot - otype ?rt - rtype)
    :precondition (and
        (holds ?a ?o)
        (atLocation ?a ?l)
        (receptacleAtLocation ?r ?l)
        (or (opened ?r) (not (openable ?r)))
        (receptacleType ?r ?rt)
        (objectType ?o ?ot)
        (canContain ?rt ?ot))
    :effect (and
        (not (holds ?a ?o))
        (not (holdsAny ?a))
        (inReceptacle ?o ?r)
        (objectAtLocation ?o ?l))
 )

 ; ---- changing things; the thing stays in the hand, the appliance may be closed

 (:action CleanObject
    :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
    :precondition (and
        (holds ?a ?o)
        (cleanable ?o)
        (atLocation ?a ?l)
        (receptacleAtLocation ?r ?l)
        (receptacleType ?r SinkBasinType))
    :effect (and (isClean ?o))
 )

 (:action HeatObject
    :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
    :precondition (and
        (holds ?a ?o)
        (heatable ?o)
        (atLocation ?a ?l)
        (receptacleAtLocation ?r ?l)
        (receptacleType ?r MicrowaveType))
    :effect (and (isHot ?o) (not (isCool ?o)))
 )

 (:action CoolObject
    :parameters (?a - agent ?l - location ?r - receptacle ?o - object)
    :precondition (and
        (holds ?a ?o)
        (coolable ?o)
        (atLocation ?a ?l)
        (receptacleAtLocation ?r ?l)
        (receptacleType ?r FridgeType))
    :effect (and (isCool ?o) (not (isHot ?o)))
 )

 ; ?co is cut with ?ko
 (:action SliceObject
    :parameters (?a - agent ?l - location ?co - object ?ko - object)
    :precondition (and
        (holds ?a ?ko)
        (or (objectType ?ko KnifeType) (objectType ?ko ButterKnifeType))
        (atLocation ?a ?l)
        (objectAtLocation ?co ?l)
        (sliceable ?co))
    :effect (and (isSliced ?co))
 )

 ; isOn flips with every use; isToggled stays: the thing has been used
 (:action ToggleObject
    :parameters (?a - agent ?l - location ?o - object ?r - receptacle)
    :precondition (and
        (atLocation ?a ?l)
        (receptacleAtLocation ?r ?l)
        (inReceptacle ?o ?r)
        (toggleable ?o))
    :effect (and
        (isToggled ?o)
        (when (not (isOn ?o)) (isOn ?o))
        (when (isOn ?o) (not (isOn ?o))))
 )

 ; ---- asking; the effect only gives a planner a reason to list the action

 (:action examineReceptacle
    :parameters (?a - agent ?r - receptacle)
    :precondition (and
        (exists (?l - location) (and (atLocation ?a ?l) (receptacleAtLocation ?r ?l))))
    :effect (and (checked ?r))
 )

 (:action examineObject
    :parameters (?a - agent ?o - object)
    :precondition (and (holds ?a ?o))
    :effect (and (checked ?o))
 )

 (:action look
    :parameters (?a - agent ?l - location)
    :precondition (and (atLocation ?a ?l))
    :effect (and (checked ?l))
 )

 (:action inventory
    :parameters (?a - agent)
    :precondition ()
    :effect (and (checked ?a))
 )

 (:action help
    :parameters (?a - agent)
    :precondition ()
    :effect (and (checked ?a))
 )
)
