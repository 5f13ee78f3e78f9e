//! Expressions that are text, jsonb or arrays.

use crate::parts;
use crate::types::Type;

use super::Generator;
use super::frames::Expr;

impl Generator<'_> {
    /// A text.
    pub(super) fn text(&mut self, depth: usize) -> Expr {
        let text = self.value(Type::Text, depth - 1);
        let small = self.random.below(5).to_string();
        let parts = match self.random.below(22) {
            0 => parts!["lower(", text, ")"],
            1 => parts!["upper(", text, ")"],
            2..=4 => parts!["(", text, " || ", self.leaf(Type::Text), ")"],
            5 => parts!["substr(", text, ", ", self.random.between(1, 3).to_string(), ", ", small, ")"],
            6 => parts!["substring(", text, " from ", self.random.between(1, 3).to_string(), " for ", small, ")"],
            7 => parts!["left(", text, ", ", small, ")"],
            8 => parts!["right(", text, ", -", small, ")"],
            9 => parts!["trim(", text, ")"],
            10 => {
                let name = self.random.word(&["ltrim(", "rtrim(", "btrim("]);
                parts![name, text, ", ", self.leaf(Type::Text), ")"]
            }
            11 => parts!["replace(", text, ", ", self.leaf(Type::Text), ", ", self.leaf(Type::Text), ")"],
            12 => parts!["reverse(", text, ")"],
            13 => parts!["repeat(left(", text, ", 5), ", small, ")"],
            14 => {
                let name = self.random.word(&["lpad(", "rpad("]);
                parts![name, text, ", ", small, ", ", self.leaf(Type::Text), ")"]
            }
            15 => {
                let (name, ty) = (self.random.word(&["concat(", "concat_ws('-', "]), self.random.below(3));
                let other = [Type::Int4, Type::Text, Type::Date][ty];
                parts![name, text, ", ", self.value(other, depth - 1), ")"]
            }
            16 => parts!["split_part(", text, ", ", self.constant(Type::Text, true), ", ", "1", ")"],
            17 => parts!["initcap(", text, ")"],
            18 => parts!["md5(", text, ")"],
            19 => parts!["translate(", text, ", 'ab', 'x')"],
            20 => {
                let operator = self.random.word(&[" ->> 'a')", " ->> 0)", " #>> '{a,b}')", " #>> '{}')"]);
                parts!["(", self.leaf(Type::Jsonb), operator]
            }
            _ => {
                let array = self.value(Type::TextArray, depth - 1);
                if self.random.chance(50) {
                    parts!["(", array, ")[1]"]
                } else {
                    parts!["array_to_string(", array, ", ',')"]
                }
            }
        };
        Expr::new(Type::Text, parts)
    }

    /// A jsonb.
    pub(super) fn jsonb(&mut self, depth: usize) -> Expr {
        let json = self.value(Type::Jsonb, depth - 1);
        let parts = match self.random.below(5) {
            0 | 1 => {
                let operator = self.random.word(&[" -> 'a')", " -> 0)", " #> '{a,b}')", " -> -1)"]);
                parts!["(", json, operator]
            }
            2 => parts!["to_jsonb(", self.value(Type::Int4, depth - 1), ")"],
            3 => parts!["to_jsonb(", self.value(Type::Text, depth - 1), ")"],
            _ => parts!["jsonb_build_object('a', ", self.value(Type::Int4, depth - 1), ", 'b', ", json, ")"],
        };
        Expr::new(Type::Jsonb, parts)
    }

    /// An array.
    pub(super) fn array(&mut self, data_type: Type, depth: usize) -> Expr {
        let element = if data_type == Type::Int4Array { Type::Int4 } else { Type::Text };
        let parts = match self.random.below(6) {
            0 | 1 => parts!["ARRAY[", self.value(element, depth - 1), ", ", self.value(element, depth - 1), "]"],
            2 => parts!["(", self.value(data_type, depth - 1), " || ", self.leaf(data_type), ")"],
            3 => parts!["array_append(", self.value(data_type, depth - 1), ", ", self.value(element, depth - 1), ")"],
            4 => parts!["array_remove(", self.value(data_type, depth - 1), ", ", self.leaf(element), ")"],
            _ if self.selects_left > 0 && self.subqueries && !self.may_fail => return self.array_subquery(data_type),
            _ => parts!["(", self.value(data_type, depth - 1), ")[1:2]"],
        };
        Expr::new(data_type, parts)
    }
}
