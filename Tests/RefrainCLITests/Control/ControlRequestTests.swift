// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import RefrainCLI

/// Lines of clients, and the commands in them.
struct ControlRequestTests {
  private func request(_ line: String) throws -> ControlRequest? {
    guard case .request(let request) = try ControlLine(Array(line.utf8)) else { return nil }
    return request
  }

  @Test func `A line has words and the identifier of the client`() throws {
    let line = #"{"command": ["seek", 30, "relative", true, 1.5, null], "request_id": 7}"#
    let request = try #require(try request(line))
    #expect(
      request.words == [
        .string("seek"), .integer(30), .string("relative"), .bool(true), .number(1.5), .null,
      ])
    #expect(request.id == .integer(7))
    #expect(try self.request(#"{"command":["stop"]}"#)?.id == .integer(0))
    #expect(try self.request(#"{"command":["stop"],"request_id":"x"}"#)?.id == .string("x"))
    #expect(try self.request("{\"command\":[\"stop\"],\"other\":[{}]}\r")?.words.count == 1)
  }

  @Test(arguments: ["", "   ", "\t\r", "# a comment", "  #"])
  func `Empty lines and comments have no answer`(_ line: String) throws {
    #expect(try ControlLine(Array(line.utf8)) == .nothing)
  }

  @Test(
    arguments: [
      "{}", "{", #"{"command"}"#, #"{"command":"stop"}"#, #"{"command":[["stop"]]}"#,
      #"{"command":[{}]}"#, #"{"command":{"name":["stop"]}}"#, #"{"command":null}"#,
      #"{"command":["seek",NaN]}"#, #"{"command":["seek",Infinity]}"#,
      #"{"command":["seek",1e999]}"#,
      #"{"command":["stop"],"request_id":[1]}"#, #"{"command":["stop"]} trailing"#,
      "{\"command\":[\"st\u{0}op\"]}",
      #"{"command":"# + String(repeating: "[", count: 30_000)
        + String(repeating: "]", count: 30_000) + "}",
      String(repeating: #"{"a":"#, count: 10_000),
      #"{"command":[\#(Array(repeating: "1", count: 20_000).joined(separator: ","))]}"#,
    ])
  func `An object that is no request is refused with an example`(_ line: String) {
    do throws(ControlFailure) {
      _ = try ControlLine(Array(line.utf8))
      Issue.record("accepted: \(line.prefix(80))")
    } catch {
      #expect(error.refusal.fault == .invalidParameter)
      #expect(error.refusal.message.contains(#"{"command": ["get_property""#))
    }
  }

  @Test func `Bytes that are no text are refused`() {
    for byte in UInt8.min...UInt8.max where ![0x20, 0x09, 0x0D, 0x23].contains(byte) {
      #expect(throws: ControlFailure.self) { try ControlLine([byte, 0xFF, 0xFE, 0x00]) }
    }
  }

  @Test(
    arguments: [
      (#"{"request_id":9}"#, .integer(9)), (#"{"command":"stop","request_id":9}"#, .integer(9)),
      (#"{"command":[["stop"]],"request_id":"a"}"#, .string("a")),
      (#"{"command":{"name":"x"},"request_id":99}"#, .integer(99)),
      (#"{"command":{"name":"seek","at":1},"request_id":-1}"#, .integer(-1)),
      (#"{"command":["seek",1e999],"request_id":1.5}"#, .number(1.5)), ("{", .integer(0)),
    ] as [(String, ControlValue)])
  func `The refusal of an object has the identifier of the client`(
    _ line: String, _ id: ControlValue
  ) {
    do throws(ControlFailure) {
      _ = try ControlLine(Array(line.utf8))
      Issue.record("accepted: \(line)")
    } catch {
      #expect(error.id == id)
    }
  }

  // MARK: Named arguments

  @Test(
    arguments: [
      (#""name":"seek","target":30"#, .seek(30, .relative)),
      (#""flags":"absolute","target":"30","name":"seek""#, .seek(30, .absolute)),
      (#""name":"seek","target":5,"legacy":"exact""#, .seek(5, .relative)),
      (#""name":"stop""#, .stop(keepsQueue: false)),
      (#""name":"loadfile","url":"a.ogg","flags":"append""#, .load("a.ogg", .append)),
      (#""name":"playlist-move","index2":0,"index1":3"#, .move(3, to: 0)),
      (#""name":"show-text","text":"hello","level":1,"_flags":["no-osd"]"#, .show("hello")),
    ] as [(String, ControlCommand)])
  func `Named arguments are put in order`(_ members: String, _ expected: ControlCommand) throws {
    let request = try #require(try request(#"{"command":{\#(members)},"request_id":1}"#))
    #expect(try ControlCommand(request.words) == expected)
  }

  @Test(arguments: [
    "", #""target":1"#, #""name":7"#, #""name":"nonsense""#, #""name":"get_property""#,
    #""name":"set","value":1"#, #""name":"playlist-shuffle","flags":"weak""#,
    #""name":"seek","position":1"#,
  ])
  func `Unknown names are invalid parameters`(_ members: String) {
    do throws(ControlFailure) {
      _ = try ControlLine(Array(#"{"command":{\#(members)}}"#.utf8))
      Issue.record("accepted")
    } catch {
      #expect(error.refusal.fault == .invalidParameter && error.refusal.message.hasSuffix("."))
    }
  }

  // MARK: Commands

  private func command(_ words: String) throws -> ControlCommand {
    try ControlCommand(#require(try request(#"{"command":[\#(words)]}"#)).words)
  }

  @Test(
    arguments: [
      (#""get_property","pause""#, .get(.pause)),
      (#""observe_property",1,"time-pos""#, .observe(1, "time-pos")),
      (#""observe_property",2,"unknown""#, .observe(2, "unknown")),
      (#""unobserve_property",1"#, .unobserve(1)), (#""client_name""#, .clientName),
      (#""get_version""#, .version),
      (#""set_property","volume","50""#, .set(.volume, .string("50"))),
      (#""set","pause","yes""#, .set(.pause, .string("yes"))), (#""cycle","mute""#, .cycle(.mute)),
      (#""cycle","mute","down""#, .cycle(.mute)), (#""add","volume",-5"#, .add(.volume, -5)),
      (#""add","volume""#, .add(.volume, 1)), (#""seek",30"#, .seek(30, .relative)),
      (#""seek","12.5","absolute""#, .seek(12.5, .absolute)),
      (#""seek",50,"absolute-percent+exact""#, .seek(50, .absolutePercent)),
      (#""seek",50,"keyframes+relative-percent""#, .seek(50, .relativePercent)),
      (#""seek",5,"relative","exact""#, .seek(5, .relative)),
      (#""stop""#, .stop(keepsQueue: false)), (#""stop","keep-playlist""#, .stop(keepsQueue: true)),
      (#""quit""#, .quit), (#""quit",3"#, .quit), (#""playlist-next""#, .next(isForced: false)),
      (#""playlist-next","weak""#, .next(isForced: false)),
      (#""playlist-next","force""#, .next(isForced: true)),
      (#""playlist-prev""#, .previous(isForced: false)),
      (#""playlist-play-index",2"#, .playIndex(.at(2))),
      (#""playlist-play-index","current""#, .playIndex(.current)),
      (#""playlist-play-index","none""#, .playIndex(.none)),
      (#""playlist-remove","0""#, .remove(.at(0))), (#""playlist-move",3,0"#, .move(3, to: 0)),
      (#""playlist-clear""#, .clear), (#""loadfile","a.ogg""#, .load("a.ogg", .replace)),
      (#""loadfile","a.ogg","append-play""#, .load("a.ogg", .appendPlay)),
      (#""loadfile","a.ogg","insert-next""#, .load("a.ogg", .insertNext)),
      (#""loadlist","a.m3u","append""#, .load("a.m3u", .append)),
      (#""get_property_string","pause""#, .getText(.pause)),
      (#""observe_property_string",1,"volume""#, .observeText(1, "volume")),
      (#""set_property_string","pause","yes""#, .set(.pause, .string("yes"))),
      (#""multiply","speed","1.5""#, .multiply(.speed, 1.5)), (#""cycle","sub""#, .cycle(.sid)),
      (#""cycle","audio""#, .cycle(.aid)), (#""cycle","video""#, .cycle(.vid)),
      (#""get_property","loop""#, .get(.loopsFile)), (#""playlist-shuffle""#, .shuffle),
      (#""playlist-unshuffle""#, .unshuffle), (#""show-text","a",1000"#, .show("a")),
      (#""no-osd","async","seek",1,null,"exact""#, .seek(1, .relative)),
      (#""seek","1:30","absolute""#, .seek(90, .absolute)),
      (#""seek","-0:10""#, .seek(-10, .relative)),
    ] as [(String, ControlCommand)])
  func `A command is read with its arguments`(_ words: String, _ expected: ControlCommand) throws {
    #expect(try command(words) == expected)
  }

  @Test(arguments: [
    "", "7", "null", #""nonsense""#, #""GET_PROPERTY","pause""#, #""get_property""#,
    #""get_property",1"#, #""get_property","pause","x""#, #""observe_property","x","pause""#,
    #""observe_property",1.5,"pause""#, #""observe_property",1"#, #""set_property","pause""#,
    #""seek""#, #""seek","x""#, #""seek","nan""#, #""seek","inf""#, #""seek",1e300"#,
    #""seek",1,"bad""#, #""seek",1,"absolute+relative""#, #""seek",1,2"#, #""stop","all""#,
    #""playlist-next","maybe""#, #""playlist-play-index","x""#, #""playlist-remove",1e30"#,
    #""playlist-remove",null"#, #""playlist-move",1"#, #""loadfile""#, #""loadfile",3"#,
    #""loadfile","a","foo""#, #""loadfile","a","append","0""#, #""client_name",1"#,
    #""run","/bin/true""#, #""subprocess""#, #""seek","1:99""#, #""seek","a:b""#, #""seek",null"#,
    #""multiply","speed""#, #""show-text""#, #""no-osd""#,
  ])
  func `Unknown commands and wrong arguments are invalid parameters`(_ words: String) throws {
    do throws(ControlRefusal) {
      let words = try? request(#"{"command":[\#(words)]}"#)?.words
      _ = try ControlCommand(words ?? [])
      Issue.record("accepted")
    } catch {
      #expect(error.fault == .invalidParameter && !error.message.isEmpty)
    }
  }

  @Test(arguments: [
    #""get_property","nonsense""#, #""set_property","nonsense",1"#, #""cycle","nonsense""#,
    #""add","nonsense",1"#,
  ])
  func `Unknown properties are named, with those that exist`(_ words: String) throws {
    do throws(ControlRefusal) {
      _ = try ControlCommand((try? request(#"{"command":[\#(words)]}"#)?.words) ?? [])
      Issue.record("accepted")
    } catch {
      #expect(error.fault == .propertyNotFound)
      #expect(error.message.contains("'nonsense'") && error.message.contains("media-title"))
    }
  }

  @Test func `The names of commands in the help are those that exist`() {
    for name in ControlCommand.names.split(separator: ", ") {
      do throws(ControlRefusal) {
        _ = try ControlCommand([.string(String(name))])
      } catch {
        // Some lack their arguments.
        #expect(!error.message.contains("There is no command"), "\(name)")
      }
    }
  }

  // MARK: Replies

  @Test func `A reply has the shape of mpv's`() {
    let done = ControlReply(id: .integer(1), answer: .success(.null))
    #expect(done.value.json == #"{"data":null,"error":"success","request_id":1}"#)
    let refused = ControlReply(
      id: .string("a"), answer: .failure(ControlRefusal(.commandFailed, "Nothing plays.")))
    #expect(
      refused.value.json
        == #"{"error":"error running command","message":"Nothing plays.","request_id":"a"}"#)
  }

  @Test func `A written value is read again by Foundation`() throws {
    let text = String(String.UnicodeScalarView((0..<0x300).compactMap(Unicode.Scalar.init)))
    let value = ControlValue.object([
      text: .string(text + "\u{2028}\u{1F600}"), "a": .array([.integer(.min), .number(1e-300)]),
      "b": .number(.infinity), "c": .number(.nan), "d": .bool(true), "e": .array([]),
      "f": .object([:]),
    ])
    #expect(!value.json.contains("\n"))
    let read = try JSONSerialization.jsonObject(with: Data(value.json.utf8))
    let expected: NSDictionary = [
      text: text + "\u{2028}\u{1F600}", "a": [Int.min, 1e-300] as [Any], "b": NSNull(),
      "c": NSNull(), "d": true, "e": [Any](), "f": [String: Any](),
    ]
    #expect(read as? NSDictionary == expected)
  }
}
