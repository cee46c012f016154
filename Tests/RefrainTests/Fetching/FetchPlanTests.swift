// SPDX-License-Identifier: MIT
import Testing

@testable import Refrain

/// A reader that waits at its position, or reads on from there.
private struct Demand {
  var reader: GenerationState.Reader
  var isWaiting: Bool
}

extension FetchPlan {
  fileprivate func request(
    for demand: Demand, readable: RangeSet<Int64>, running: [Running]
  ) -> ByteRange? {
    request(
      for: demand.reader, isWaiting: demand.isWaiting, readable: readable, running: running)
  }
}

@Suite struct FetchPlanTests {
  private static let kib: Int64 = 1 << 10
  private static let mib: Int64 = 1 << 20

  private func plan(_ change: (inout FetchPlan) -> Void = { _ in }) -> FetchPlan {
    var plan = FetchPlan(
      length: 100 * Self.mib, supportsRanges: true, firstRequest: 64 * Self.kib,
      maximumReadAhead: 8 * Self.mib)
    change(&plan)
    return plan
  }

  private func waiting(at position: Int64, read: Int64 = 0, end: Int64 = .max) -> Demand {
    Demand(
      reader: .init(position: position, runLength: read, end: end, minimum: 64 * Self.kib),
      isWaiting: true)
  }

  private func reading(at position: Int64, read: Int64) -> Demand {
    Demand(
      reader: .init(position: position, runLength: read, minimum: 64 * Self.kib), isWaiting: false)
  }

  @Test func `A seek requests the configured first size`() {
    let decision = plan().request(for: waiting(at: 40 * Self.mib), readable: .init(), running: [])
    #expect(decision == 40 * Self.mib..<40 * Self.mib + 64 * Self.kib)
  }

  @Test func `Sequential reading requests as much as was read, later the whole rest`() {
    let readable = RangeSet(0..<Self.mib)
    let doubled = plan().request(
      for: waiting(at: Self.mib, read: Self.mib), readable: readable, running: [])
    #expect(doubled == Self.mib..<2 * Self.mib)
    let most = plan().request(
      for: waiting(at: Self.mib, read: 2 * Self.mib), readable: readable, running: [])
    #expect(most == Self.mib..<100 * Self.mib)
  }

  @Test func `A reader that announces its end gets one request up to that end`() {
    var demand = waiting(at: Self.mib)
    demand.reader.readsOn = true
    let all = plan().request(for: demand, readable: .init(), running: [])
    #expect(all == Self.mib..<100 * Self.mib)
    demand.reader.end = 3 * Self.mib
    let part = plan().request(for: demand, readable: .init(), running: [])
    #expect(part == Self.mib..<3 * Self.mib)
    let unknown = plan { $0.length = nil }
    demand.reader.end = .max
    let open = unknown.request(for: demand, readable: .init(), running: [])
    #expect(open == Self.mib..<Int64.max)
  }

  @Test func `A background fill requests the whole hole`() {
    var demand = waiting(at: 0)
    demand.reader.isBackground = true
    let readable = RangeSet([40 * Self.mib..<50 * Self.mib])
    let hole = plan().request(for: demand, readable: readable, running: [])
    #expect(hole == 0..<40 * Self.mib)
  }

  @Test func `A request is limited to what readers usually read before a seek`() {
    let usual = plan { $0.usualRun = 256 * Self.kib }
    for readsOn in [true, false] {
      var demand = waiting(at: Self.mib)
      demand.reader.readsOn = readsOn
      #expect(
        usual.request(for: demand, readable: .init(), running: [])
          == Self.mib..<Self.mib + 256 * Self.kib)
      // All of that is stored or on its way: no read-ahead is requested.
      demand = reading(at: Self.mib + 64 * Self.kib, read: 64 * Self.kib)
      demand.reader.readsOn = readsOn
      let run = RangeSet(Self.mib..<Self.mib + 256 * Self.kib)
      #expect(usual.request(for: demand, readable: run, running: []) == nil)
      demand = reading(at: Self.mib + 256 * Self.kib, read: 256 * Self.kib)
      demand.reader.readsOn = readsOn
      #expect(usual.request(for: demand, readable: run, running: []) == nil)
      // The same for a reader that waits for the last bytes, which are on their way.
      demand = waiting(at: Self.mib + 192 * Self.kib, read: 192 * Self.kib)
      demand.reader.readsOn = readsOn
      let coming = FetchPlan.Running(
        range: Self.mib..<Self.mib + 256 * Self.kib, position: Self.mib + 192 * Self.kib)
      let stored = RangeSet(Self.mib..<Self.mib + 192 * Self.kib)
      #expect(usual.request(for: demand, readable: stored, running: [coming]) == nil)
      // A reader that goes further is one that continues.
      demand = waiting(at: Self.mib + 256 * Self.kib, read: 256 * Self.kib)
      demand.reader.readsOn = readsOn
      let next = usual.request(for: demand, readable: run, running: [])
      let end = readsOn ? 100 * Self.mib : Self.mib + 512 * Self.kib
      #expect(next == Self.mib + 256 * Self.kib..<end)
    }
  }

  @Test func `The read-ahead window grows with the length of the run`() {
    let plan = plan()
    #expect(plan.window(afterRun: 0) == 256 * Self.kib)
    #expect(plan.window(afterRun: Self.mib) == Self.mib)
    #expect(plan.window(afterRun: 4 * Self.mib) == Self.mib)
    #expect(plan.window(afterRun: 16 * Self.mib) == 4 * Self.mib)
    #expect(plan.window(afterRun: 90 * Self.mib) == 8 * Self.mib * 2 / 3)
  }

  @Test func `A request ends at stored bytes, at a running fetch and at the end`() {
    let plan = plan { $0.length = 100_000 }
    let readable = RangeSet<Int64>([10_000..<20_000])
    #expect(plan.request(for: waiting(at: 0), readable: readable, running: []) == 0..<10_000)
    let running = FetchPlan.Running(range: 10_000..<20_000, position: 12_000)
    #expect(
      plan.request(for: waiting(at: 0), readable: .init(), running: [running]) == 0..<12_000)
    #expect(
      plan.request(for: waiting(at: 60_000), readable: .init(), running: [])
        == 60_000..<100_000)
    for position: Int64 in [100_000, 500_000] {
      #expect(plan.request(for: waiting(at: position), readable: .init(), running: []) == nil)
    }
  }

  @Test func `A request exceeds the demand's end only up to the smallest request`() {
    let decision = plan().request(
      for: waiting(at: 0, read: 4 * Self.mib, end: 10), readable: .init(), running: [])
    #expect(decision == 0..<64 * Self.kib)
  }

  @Test func `A running fetch that is near is joined`() {
    let running = FetchPlan.Running(range: 0..<Self.mib, position: 0)
    #expect(
      plan().request(for: waiting(at: 60 * Self.kib), readable: .init(), running: [running]) == nil
    )
  }

  @Test func `A running fetch is joined if it arrives in time, else truncated`() {
    let running = FetchPlan.Running(range: 0..<4 * Self.mib, position: 0)
    let at = 2 * Self.mib
    let fast = plan { $0.rate = 40 * 1024 * 1024 }
    #expect(fast.request(for: waiting(at: at), readable: .init(), running: [running]) == nil)
    let ofItsOwn = at..<at + 64 * Self.kib
    let slow = plan { $0.rate = 1024 * 1024 }
    #expect(slow.request(for: waiting(at: at), readable: .init(), running: [running]) == ofItsOwn)
    // A new request is answered before the running one reaches this offset.
    let near = plan {
      $0.rate = 40 * 1024 * 1024
      $0.latency = 0.01
    }
    #expect(near.request(for: waiting(at: at), readable: .init(), running: [running]) == ofItsOwn)
    // The response that brings the whole resource is waited for a little longer.
    var whole = running
    whole.purpose = .whole
    #expect(near.request(for: waiting(at: at), readable: .init(), running: [whole]) == nil)
    // The same for any response if the user has set the patience.
    let patient = plan {
      $0.latency = 0.01
      $0.patience = 10
    }
    #expect(patient.request(for: waiting(at: at), readable: .init(), running: [running]) == nil)
  }

  @Test func `The next request starts when half of the window is left`() {
    let demand = reading(at: Self.mib, read: Self.mib)
    let much = RangeSet(0..<2 * Self.mib - 1)
    #expect(plan().request(for: demand, readable: much, running: []) == nil)
    let half = Self.mib + Self.mib / 2
    #expect(
      plan().request(for: demand, readable: RangeSet(0..<half), running: [])
        == half..<half + Self.mib)
  }

  @Test func `No more than two requests serve one reader`() {
    let demand = reading(at: 0, read: Self.mib)
    let running = [
      FetchPlan.Running(range: 0..<100, position: 0),
      FetchPlan.Running(range: 100..<200, position: 100),
    ]
    #expect(plan().request(for: demand, readable: .init(), running: running) == nil)
  }

  @Test func `An origin without ranges receives one request for the whole resource`() {
    let rangeless = plan {
      $0.supportsRanges = false
      $0.length = 1000
    }
    let demand = waiting(at: 500)
    #expect(rangeless.request(for: demand, readable: .init(), running: []) == 0..<1000)
    let running = FetchPlan.Running(range: 0..<1000, position: 100, purpose: .whole)
    #expect(rangeless.request(for: demand, readable: .init(), running: [running]) == nil)
    let past = FetchPlan.Running(range: 0..<1000, position: 600, purpose: .whole)
    #expect(rangeless.request(for: demand, readable: .init(), running: [past]) == 0..<1000)
  }

  /// Random requested, stored and running ranges: a plan never requests stored or running bytes,
  /// nothing beyond the end, and no empty range; a waiting reader is served.
  @Test func `Random demands keep the invariants`() {
    let seed = TestSeed.next()
    var random = SeededGenerator(seed: seed)
    for round in 0..<20_000 {
      let length = Int64.random(in: 1...(4 * Self.mib), using: &random)
      var plan = plan {
        $0.length = Bool.random(using: &random) ? length : nil
        $0.supportsRanges = [true, true, nil, false].randomElement(using: &random) ?? nil
        $0.rate = Bool.random(using: &random) ? Double.random(in: 1...1e8, using: &random) : nil
        $0.patience = [nil, 0, 0.5, 1e9].randomElement(using: &random) ?? nil
      }
      if plan.supportsRanges == false { plan.length = length }
      func range() -> ByteRange {
        let lower = Int64.random(in: 0..<length, using: &random)
        return lower..<min(length, lower + Int64.random(in: 1...Self.mib, using: &random))
      }
      var readable = RangeSet<Int64>()
      for _ in 0..<Int.random(in: 0..<6, using: &random) { readable.insert(contentsOf: range()) }
      var running: [FetchPlan.Running] = []
      for _ in 0..<Int.random(in: 0..<4, using: &random) {
        let wanted = range()
        running.append(
          .init(
            range: wanted,
            position: Int64.random(in: wanted.lowerBound...wanted.upperBound, using: &random),
            purpose: plan.supportsRanges == false ? .whole : .bytes))
      }
      let demand = Demand(
        reader: .init(
          position: Int64.random(in: 0..<length, using: &random),
          runLength: Int64.random(in: 0...(64 * Self.mib), using: &random),
          isBackground: Bool.random(using: &random),
          minimum: [1, 64 * Self.kib].randomElement(using: &random) ?? 1),
        isWaiting: Bool.random(using: &random))
      let position = demand.reader.position
      let isComing = running.contains { $0.ahead.contains(position) }
      let isServed = readable.contains(position)
      let asked = plan
      // Only for a failure: it takes longer than everything else.
      func what() -> Comment {
        "seed \(seed), round \(round): \(asked) \(demand) \(readable) \(running)"
      }
      guard let range = plan.request(for: demand, readable: readable, running: running) else {
        if demand.isWaiting { #expect(isServed || isComing, what()) }
        continue
      }
      #expect(!range.isEmpty, what())
      if let end = plan.length { #expect(range.upperBound <= end, what()) }
      guard plan.supportsRanges != false else { continue }
      #expect(readable.intersection(RangeSet(range)).isEmpty, what())
      // Those that bring the byte too late, which are shortened.
      let late = running.filter { $0.ahead.contains(range.lowerBound) }
      for fetch in running where !late.contains(where: { $0.range == fetch.range }) {
        #expect(!fetch.ahead.overlaps(range), what())
      }
      if !late.isEmpty { #expect(range.lowerBound == position && demand.isWaiting, what()) }
      if demand.isWaiting, !isServed, !isComing { #expect(range.lowerBound == position, what()) }
    }
  }
}
